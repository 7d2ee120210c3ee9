import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/error.ts';

/**
 * Returns the message with which the gateway refuses this environment. Undefined when the gateway accepts the
 * environment.
 */
function refusal(environment: NodeJS.ProcessEnv): string | undefined {
  try {
    readConfig(environment);
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

const PROVIDER = {
  GATEWAY_OIDC_ISSUER: 'https://id.example/tenant',
  GATEWAY_OIDC_CLIENT_ID: 'gateway',
  GATEWAY_OIDC_CLIENT_SECRET: 'hush',
};

test.each([
  'gateway.example',
  'ftp://gateway.example',
  'https://gateway.example/api',
  'https://a@gateway.example',
  'http://gateway.example',
  ' ',
])('GATEWAY_BASE_URL %j is refused', (given) => {
  expect(refusal({ GATEWAY_BASE_URL: given })).toMatch(/^GATEWAY_BASE_URL must be an https address/);
});

test.each(['http://127.0.0.1:8420', 'http://localhost', 'http://[::1]:1', 'https://gateway.example'])(
  'GATEWAY_BASE_URL %j is taken',
  (given) => {
    expect(refusal({ GATEWAY_BASE_URL: given })).toBeUndefined();
  },
);

test('a host that others reach needs an address that they use', () => {
  expect(refusal({ HOST: '0.0.0.0' })).toMatch(/^GATEWAY_BASE_URL must be given/);
  expect(refusal({ HOST: '0.0.0.0', GATEWAY_BASE_URL: 'https://gateway.example' })).toBeUndefined();
});

test.each(['1.2.3.4/99', 'proxy.example', '10.0.0.0/8,', '300.1.1.1'])('GATEWAY_TRUSTED_PROXIES %j', (given) => {
  const fine = given === '10.0.0.0/8,';
  expect(refusal({ GATEWAY_TRUSTED_PROXIES: given })).toEqual(
    fine ? undefined : expect.stringMatching(/^GATEWAY_TRUSTED_PROXIES must be addresses or ranges/),
  );
});

describe('observability', () => {
  test.each(['1.2.3.4/99', 'prometheus.example', '300.1.1.1'])('GATEWAY_METRICS_ALLOW %j is refused', (given) => {
    expect(refusal({ GATEWAY_METRICS_ALLOW: given })).toBe(
      'GATEWAY_METRICS_ALLOW must be addresses or ranges other than this machine that may read /metrics, separated by commas.',
    );
  });

  test('ranges are taken; by default nobody but this machine', () => {
    expect(readConfig({}).metricsAllowed).toEqual([]);
    expect(readConfig({ GATEWAY_METRICS_ALLOW: '10.1.0.0/16, fd00::/8,' }).metricsAllowed).toEqual([
      '10.1.0.0/16',
      'fd00::/8',
    ]);
  });

  const at = 'http://127.0.0.1:4318';
  test.each([
    [{}, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: at }, `${at}/v1/traces`],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: `${at}/base/` }, `${at}/base/v1/traces`],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: at, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${at}/own` }, `${at}/own`],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: at, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, `${at}/v1/traces`],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: at, OTEL_TRACES_EXPORTER: 'none' }, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: at, OTEL_SDK_DISABLED: 'true' }, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, undefined],
  ])('%j: traces go to %s', (given, url) => {
    expect(readConfig(given).tracing).toEqual(url === undefined ? undefined : { url, service: 'installation-gateway' });
  });

  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://collector:4317'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', '/v1/traces'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'http/protobuf'],
    ['OTEL_TRACES_EXPORTER', 'jaeger'],
    ['OTEL_SDK_DISABLED', 'yes'],
    ['OTEL_SERVICE_NAME', 'x'.repeat(201)],
  ])('%s=%s is refused with a sentence', (name, given) => {
    expect(refusal({ OTEL_EXPORTER_OTLP_ENDPOINT: at, [name]: given })).toMatch(
      new RegExp(`^${name} must be [^.].+\\.$`),
    );
  });
});

describe('webhooks', () => {
  test('by default nothing is exempt, and five attempts', () => {
    expect(readConfig({}).webhooks).toEqual({ allowed: new Set(), schedule: [0, 5, 300, 1800, 7200] });
  });

  test('origins and seconds', () => {
    const given = {
      GATEWAY_WEBHOOK_ALLOW: 'http://127.0.0.1:9000, https://hooks.example',
      GATEWAY_WEBHOOK_SCHEDULE: '0,1',
    };
    expect(readConfig(given).webhooks).toEqual({
      allowed: new Set(['http://127.0.0.1:9000', 'https://hooks.example']),
      schedule: [0, 1],
    });
  });

  test.each(['127.0.0.1:9000', 'http://127.0.0.1:9000/', 'http://a@127.0.0.1', 'ftp://127.0.0.1', '*', 'http://h:80'])(
    'GATEWAY_WEBHOOK_ALLOW %s is refused',
    (given) => {
      expect(refusal({ GATEWAY_WEBHOOK_ALLOW: given })).toMatch(/^GATEWAY_WEBHOOK_ALLOW must be origins/);
    },
  );

  test.each(['0,5,300,1800,7200,1', '-1', '1.5', '0;5', ',', '0,,1', '1000000'])(
    'GATEWAY_WEBHOOK_SCHEDULE %s is refused',
    (given) => {
      expect(refusal({ GATEWAY_WEBHOOK_SCHEDULE: given })).toMatch(/^GATEWAY_WEBHOOK_SCHEDULE must be seconds/);
    },
  );
});

describe('the identity provider: all of its settings or none', () => {
  test('none, and empty ones, which are none', () => {
    expect(readConfig({}).identity).toBeUndefined();
    expect(readConfig({ GATEWAY_OIDC_ISSUER: '', GATEWAY_OIDC_CLIENT_SECRET: '' }).identity).toBeUndefined();
  });

  test('all', () => {
    expect(readConfig(PROVIDER).identity).toEqual({
      issuer: 'https://id.example/tenant',
      clientId: 'gateway',
      clientSecret: 'hush',
    });
  });

  const names = Object.keys(PROVIDER);
  test.each(names.flatMap((name) => names.filter((other) => other !== name).map((other) => [name, other] as const)))(
    'without %s and %s, or without the first alone, it is refused',
    (first, second) => {
      expect(refusal({ ...PROVIDER, [first]: undefined, [second]: '' })).toMatch(/^GATEWAY_OIDC_\w+ must be .+\.$/);
      expect(refusal({ ...PROVIDER, [first]: '' })).toMatch(new RegExp(`^${first} must be .+\\.$`));
    },
  );

  test.each([
    ['http://127.0.0.1:9000', true],
    ['http://localhost:9000/oidc', true],
    ['http://[::1]:9000', true],
    ['http://id.example', false],
    ['http://127.0.0.1.example', false],
    ['http://localhost.example', false],
    ['https://id.example/?tenant=1', false],
    ['https://id.example/#x', false],
    ['https://user@id.example', false],
    ['ftp://id.example', false],
    ['id.example', false],
    ['not an address', false],
  ])('issuer %s: accepted %s', (issuer, accepted) => {
    const said = refusal({ ...PROVIDER, GATEWAY_OIDC_ISSUER: issuer });
    if (accepted) expect(said).toBeUndefined();
    else expect(said).toMatch(/^GATEWAY_OIDC_ISSUER must be the https address of an OpenID Connect provider/);
  });
});
