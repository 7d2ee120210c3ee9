import { once } from 'node:events';
import { existsSync, mkdtempSync, promises, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { run } from '../../src/cli/program.ts';
import { EXPECTED } from '../../src/config/allowed-values.ts';
import { readConfig } from '../../src/config/config.ts';
import { packageRoot } from '../../src/config/package.ts';
import { serve } from '../../src/process/serve.ts';
import { LONG } from '../support/form.ts';
import { startReplica } from '../support/replica.ts';

/**
 * Gives each setting a wrong value through the real command line. The gateway must refuse the value with one sentence
 * and exit code 1. Before the refusal, the gateway must not open a port, create a data folder, start PostgreSQL or
 * connect to DATABASE_URL.
 */
const base = mkdtempSync(join(tmpdir(), 'gateway-settings-'));
const text = join(base, 'text.pem');
writeFileSync(text, 'no certificate');
const dataDir = join(base, 'data');
const nowhere = join(base, 'nowhere.pem');

/** A server that only counts its connections. DATABASE_URL names this server, and no case may connect. */
let server: Server;
let visits = 0;
let database = '';
let other: Server;
let port = 0;
const listening = async (one: Server): Promise<number> => {
  one.listen(0, '127.0.0.1');
  await once(one, 'listening');
  const address = one.address();
  return typeof address === 'object' && address ? address.port : 0;
};
beforeAll(async () => {
  server = createServer((socket) => {
    visits++;
    socket.destroy();
  });
  database = `postgres://gateway@127.0.0.1:${await listening(server)}/gateway`;
  other = createServer((socket) => void socket.on('error', () => socket.destroy()));
  port = await listening(other);
});
afterAll(() => {
  server.close();
  other.close();
  rmSync(base, { recursive: true, force: true });
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dataDir, { recursive: true, force: true });
});

type Case = [environment: Readonly<Record<string, string>>, said: string];
const each = (name: string, values: readonly string[], others: Readonly<Record<string, string>> = {}): Case[] =>
  values.map((value) => [{ ...others, [name]: value }, `${name} must be ${EXPECTED[name]}.`]);

const ADDRESSES = [
  'mysql://db/gateway',
  'db.example',
  'postgres:/db/gateway',
  'postgres://db,/gateway',
  'postgres://db:1,db:x/gateway',
  'postgres://db,%2Ftmp%2Fpg/gateway',
  'postgres://db%2Cdb/gateway',
  // The driver would connect to the host behind the first @.
  'postgres://u@127.0.0.9:15999%2Cx:hush@db/gateway',
  'postgres://db:65536/gateway',
  'postgres://db:x/gateway',
  'postgres://%zz@db/gateway',
  'postgres://gateway:100%@db/gateway',
  // Each password contains digits that look like a port. After the digits comes a character that would end a port in an
  // address.
  'postgres://gateway:12/3@db/gateway',
  'postgres://gateway:12#3@db/gateway',
  'postgres://gateway:12?3@db/gateway',
  'postgres://gateway:hush@12/3@db/gateway',
];
/** The store takes writes, so it is no standby. */
const STORES = [
  ...ADDRESSES,
  'postgres://db,other/gateway?target_session_attrs=any',
  'postgres://db/gateway?target_session_attrs=standby',
];
const ISSUERS = [
  'http://id.example',
  'http://127.0.0.1.example',
  'http://localhost.example',
  'id.example',
  'ftp://id.example',
  'not an address',
  'https://id.example/?a',
  'https://id.example/#x',
  'https://user@id.example',
];
const PROVIDER = {
  GATEWAY_OIDC_ISSUER: 'https://id.example',
  GATEWAY_OIDC_CLIENT_ID: 'gateway',
  GATEWAY_OIDC_CLIENT_SECRET: 'hush',
};
const without = (name: keyof typeof PROVIDER): Case[] => each(name, [''], PROVIDER);
const TRACED = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
const SAMPLED = { ...TRACED, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' };
const unreadable = (name: string): string =>
  `${name} names a file that cannot be read. Name a PEM file that this user may read.`;
const NO_PAIR = 'GATEWAY_TLS_CERT and GATEWAY_TLS_KEY must be a PEM certificate and its private key.';
const KEY = Buffer.alloc(32).toString('base64');

const CASES = (): Record<string, Case[]> => ({
  PORT: [
    ...each('PORT', ['65536', '-1', '80.5', '0x50', '1e3', ' ', 'http', '8420 ']),
    [{ PORT: `${port}` }, `Port ${port} on 127.0.0.1 is in use. Choose another with PORT.`],
  ],
  HOST: [
    ...each('HOST', [' ', 'a b', 'http://localhost', 'localhost:80', '[::1]', '-a', 'a..b', 'a'.repeat(254)]),
    [
      { HOST: '192.0.2.1', GATEWAY_BASE_URL: 'https://gateway.example' },
      'HOST 192.0.2.1 is not an address of this machine. Choose one that is, or 0.0.0.0 for all of them.',
    ],
    [
      { HOST: '0.0.0.0' },
      'GATEWAY_BASE_URL must be given when HOST is not localhost. Set it to the address that clients use, usually that of a proxy with TLS.',
    ],
  ],
  GATEWAY_BASE_URL: each('GATEWAY_BASE_URL', [
    'gateway.example',
    'http://gateway.example',
    'https://gateway.example/x',
    'ftp://gateway.example',
    'https://a@gateway.example',
    ' ',
  ]),
  DATABASE_URL: each('DATABASE_URL', STORES),
  DATABASE_DIRECT_URL: [
    ...each('DATABASE_DIRECT_URL', STORES),
    ...each('DATABASE_DIRECT_URL', ['postgres://db/gateway'], { DATABASE_URL: '' }),
  ],
  DATABASE_REPLICA_URL: [
    ...each('DATABASE_REPLICA_URL', [...ADDRESSES, 'postgres://db,other/gateway']),
    ...each('DATABASE_REPLICA_URL', ['postgres://db/gateway'], { DATABASE_URL: '' }),
  ],
  GATEWAY_DATA_DIR: [
    ...each('GATEWAY_DATA_DIR', [text, join(text, 'data')]),
    [
      { GATEWAY_DATA_DIR: '/proc/gateway' },
      'GATEWAY_DATA_DIR must be a folder that this user may write. Alternatively, give the keys in GATEWAY_KEYS.',
    ],
  ],
  GATEWAY_TLS_CERT: [
    ...each('GATEWAY_TLS_CERT', [text]),
    [{ GATEWAY_TLS_CERT: nowhere, GATEWAY_TLS_KEY: text }, unreadable('GATEWAY_TLS_CERT')],
    [{ GATEWAY_TLS_CERT: text, GATEWAY_TLS_KEY: text }, NO_PAIR],
  ],
  GATEWAY_TLS_KEY: [
    [{ GATEWAY_TLS_KEY: text }, `GATEWAY_TLS_CERT must be ${EXPECTED['GATEWAY_TLS_CERT']}.`],
    [{ GATEWAY_TLS_CERT: text, GATEWAY_TLS_KEY: base }, unreadable('GATEWAY_TLS_KEY')],
  ],
  GATEWAY_CELL: each('GATEWAY_CELL', ['0', '10000', '-1', '1.5', 'two', ' 2']),
  GATEWAY_DB_CONNECTIONS: each('GATEWAY_DB_CONNECTIONS', ['0', '201', '-1', '1.5', 'many', ' 8']),
  GATEWAY_OIDC_ISSUER: [...each('GATEWAY_OIDC_ISSUER', ISSUERS, PROVIDER), ...without('GATEWAY_OIDC_ISSUER')],
  GATEWAY_OIDC_CLIENT_ID: without('GATEWAY_OIDC_CLIENT_ID'),
  GATEWAY_OIDC_CLIENT_SECRET: without('GATEWAY_OIDC_CLIENT_SECRET'),
  GATEWAY_KEYS: each('GATEWAY_KEYS', ['1', '1:AAAA', `1:${KEY},1:${KEY}`, `:${KEY}`, `1:${KEY},`]),
  GATEWAY_TRUSTED_PROXIES: each('GATEWAY_TRUSTED_PROXIES', ['proxy.example', '10.0.0.0/33', '10.0.0', '300.1.1.1']),
  GATEWAY_WEBHOOK_ALLOW: each(
    'GATEWAY_WEBHOOK_ALLOW',
    '* 127.0.0.1:9000 http://127.0.0.1:9000/ http://127.0.0.1:9000/hook http://a@127.0.0.1 ftp://127.0.0.1 http://h:80'.split(
      ' ',
    ),
  ),
  GATEWAY_WEBHOOK_SCHEDULE: each('GATEWAY_WEBHOOK_SCHEDULE', [
    'now',
    '0,',
    ',',
    '0,,1',
    '0;5',
    '1.5',
    '0,1,2,3,4,5',
    '-1',
    '1000000',
  ]),
  GATEWAY_CLIENT_HOSTS: each('GATEWAY_CLIENT_HOSTS', [
    'https://claude.ai',
    'claude.ai:443',
    'claude.ai/a',
    '*.ai/',
    '*.claude.ai',
    'claude.ai.',
    'claude.ai,a;b',
    'a b',
  ]),
  GATEWAY_CLIENT_ALLOW: each('GATEWAY_CLIENT_ALLOW', ['*', '127.0.0.1:9000', 'http://127.0.0.1:9000/client.json']),
  GATEWAY_AUDIT_DAYS: each('GATEWAY_AUDIT_DAYS', ['0', '3651', '-1', '90d', 'all']),
  GATEWAY_AUDIT_ADDRESSES: each('GATEWAY_AUDIT_ADDRESSES', ['none', 'FULL', 'address']),
  GATEWAY_SOURCE_HOSTS: each('GATEWAY_SOURCE_HOSTS', [
    '*',
    'https://chat.example',
    'chat.example:0',
    'chat.example:65536',
    'chat.example:',
    ':5432',
    'a b',
  ]),
  GATEWAY_HOSTED_CONSENT_MAX: each('GATEWAY_HOSTED_CONSENT_MAX', ['1h', '31d', '30', 'never']),
  GATEWAY_MCP_WEBHOOK_ID: each('GATEWAY_MCP_WEBHOOK_ID', ['both', 'events', 'MESSAGE']),
  GATEWAY_MCP_EVENTS: each('GATEWAY_MCP_EVENTS', ['on', 'true', 'CURRENT', 'sketch,current']),
  GATEWAY_METRICS_ALLOW: each('GATEWAY_METRICS_ALLOW', ['monitoring.example', '10.0.0.0/33', '300.1.1.1', '*']),
  OTEL_EXPORTER_OTLP_ENDPOINT: each('OTEL_EXPORTER_OTLP_ENDPOINT', ['collector:4318', 'grpc://collector:4317', ' ']),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: each('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', ['collector:4318', '/v1/traces']),
  OTEL_EXPORTER_OTLP_PROTOCOL: each('OTEL_EXPORTER_OTLP_PROTOCOL', ['grpc', 'http/protobuf'], TRACED),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: each('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', ['grpc', 'http/protobuf'], TRACED),
  OTEL_TRACES_SAMPLER: each('OTEL_TRACES_SAMPLER', ['parentbased', 'ALWAYS_ON', '0.05'], TRACED),
  OTEL_TRACES_SAMPLER_ARG: [
    ...each('OTEL_TRACES_SAMPLER_ARG', ['', '5', '1.5', '-0.1', '5%', '1e-2'], SAMPLED),
    ...each('OTEL_TRACES_SAMPLER_ARG', [''], { ...TRACED, OTEL_TRACES_SAMPLER: 'traceidratio' }),
  ],
  OTEL_RESOURCE_ATTRIBUTES: each('OTEL_RESOURCE_ATTRIBUTES', ['test', 'a=b=c', 'a=%zz', '=b'], TRACED),
  OTEL_TRACES_EXPORTER: each('OTEL_TRACES_EXPORTER', ['console', 'jaeger', 'otlp,none']),
  OTEL_SDK_DISABLED: each('OTEL_SDK_DISABLED', ['yes', '1']),
  OTEL_SERVICE_NAME: each('OTEL_SERVICE_NAME', ['a'.repeat(201)]),
  LOG_FORMAT: each('LOG_FORMAT', ['JSON', 'text', ' ']),
  LOG_LEVEL: each('LOG_LEVEL', ['verbose', 'INFO', ' ']),
});

const environment = (given: Readonly<Record<string, string>>): Record<string, string> => ({
  ...Object.fromEntries(Object.keys(EXPECTED).map((name) => [name, ''])),
  PORT: '0',
  DATABASE_URL: database,
  GATEWAY_DATA_DIR: dataDir,
  ...given,
});

async function served(given: Readonly<Record<string, string>>): Promise<{ code: number; said: string }> {
  for (const [name, value] of Object.entries(environment(given))) vi.stubEnv(name, value);
  let said = '';
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    said += Buffer.from(chunk).toString();
    return true;
  });
  try {
    return { code: await run(['serve'], { serve, generate: async () => undefined }), said };
  } finally {
    spy.mockRestore();
    process.exitCode = undefined;
  }
}

describe('a setting that cannot be used', () => {
  it('has a case here, and a row in docs/configuration.md', () => {
    const names = Object.keys(EXPECTED);
    expect(Object.keys(CASES()).toSorted()).toEqual(names.toSorted());
    const table = readFileSync(new URL('docs/configuration.md', packageRoot), 'utf8');
    expect(names.filter((name) => !table.match(`\\| \`.*\\b${name}\`.* \\|`))).toEqual([]);
  });

  it.each(Object.keys(EXPECTED))('%s is refused with a sentence, and nothing is opened', async (name) => {
    const cases = CASES()[name] ?? [];
    expect(cases).not.toEqual([]);
    const before = visits;
    for (const [given, said] of cases) {
      expect(await served(given), JSON.stringify(given)).toEqual({ code: 1, said: `gateway: ${said}\n` });
    }
    expect({ folder: existsSync(dataDir), visits }).toEqual({ folder: false, visits: before });
  });

  it('is none of OpenTelemetry’s where traces are off, nor one that is right', () => {
    const wrong = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_TRACES_SAMPLER: 'x', OTEL_RESOURCE_ATTRIBUTES: 'x' };
    for (const off of [{}, { ...TRACED, OTEL_TRACES_EXPORTER: 'none' }, { ...TRACED, OTEL_SDK_DISABLED: 'true' }])
      expect(readConfig({ ...wrong, ...off }).tracing).toBeUndefined();
    for (const OTEL_TRACES_SAMPLER_ARG of ['0', '1', '0.05', '.5', '1.0'])
      expect(readConfig({ ...SAMPLED, OTEL_TRACES_SAMPLER_ARG }).tracing).toBeDefined();
    const OTEL_RESOURCE_ATTRIBUTES = 'deployment.environment.name=test,a=%2C';
    expect(readConfig({ ...TRACED, OTEL_RESOURCE_ATTRIBUTES }).tracing).toBeDefined();
  });

  it('so is a data folder on a file system without hard links, and no file with a key stays there', async () => {
    const linked = vi.spyOn(promises, 'link').mockRejectedValue(Object.assign(new Error('EPERM'), { code: 'EPERM' }));
    syncBuiltinESMExports();
    try {
      const said =
        'gateway: GATEWAY_DATA_DIR must be a folder on a file system with hard links. Alternatively, give the keys in GATEWAY_KEYS.\n';
      expect(await served({})).toEqual({ code: 1, said });
      expect(linked).toHaveBeenCalledOnce();
      expect(readdirSync(dataDir)).toEqual([]);
    } finally {
      linked.mockRestore();
      syncBuiltinESMExports();
    }
  });

  it('so is a name that is none', async () => {
    const file = fileURLToPath(new URL('docs/configuration.md', packageRoot));
    const said = `gateway: GATEWAY_PROT is not a setting of the gateway. ${file} lists the settings.\n`;
    expect(await served({ GATEWAY_PROT: '1' })).toEqual({ code: 1, said });
    expect(existsSync(dataDir)).toBe(false);
  });

  // Each case starts a process, which is slow. The long form therefore tries only one case for each setting. The short
  // form tries a single case: a port in use.
  it('ends the process that was started with it', async () => {
    const every = Object.values(CASES()).map((cases) => cases.at(-1));
    const short = [CASES()['PORT']?.at(-1)];
    const before = visits;
    for (const [given, said] of (LONG ? every : short).flatMap((one) => (one ? [one] : []))) {
      const started = startReplica({ databaseUrl: database, env: environment(given) });
      await expect(started, JSON.stringify(given)).rejects.toThrow(
        new Error(`replica ended with 1: gateway: ${said}\n`),
      );
    }
    expect({ folder: existsSync(dataDir), visits }).toEqual({ folder: false, visits: before });
  });
});
