import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.js';
import { ConfigError } from '../../src/config/error.js';
/** Values that are taken. misconfiguration.test.ts has the values that are refused. */
/**
 * Returns the message with which the gateway refuses this environment. Undefined when the gateway accepts the
 * environment.
 */
function refusal(environment) {
    try {
        readConfig(environment);
        return undefined;
    }
    catch (error) {
        if (error instanceof ConfigError)
            return error.message;
        throw error;
    }
}
const PROVIDER = {
    GATEWAY_OIDC_ISSUER: 'https://id.example/tenant',
    GATEWAY_OIDC_CLIENT_ID: 'gateway',
    GATEWAY_OIDC_CLIENT_SECRET: 'hush',
};
test.each(['http://127.0.0.1:8420', 'http://localhost', 'http://[::1]:1', 'https://gateway.example'])('GATEWAY_BASE_URL %j is taken', (given) => {
    expect(refusal({ GATEWAY_BASE_URL: given })).toBeUndefined();
});
test('a range may end with a comma', () => {
    expect(refusal({ GATEWAY_TRUSTED_PROXIES: '10.0.0.0/8,' })).toBeUndefined();
});
test('a host that others reach needs an address that they use', () => {
    expect(refusal({ HOST: '0.0.0.0' })).toMatch(/^GATEWAY_BASE_URL must be given/);
    expect(refusal({ HOST: '0.0.0.0', GATEWAY_BASE_URL: 'https://gateway.example' })).toBeUndefined();
});
describe('observability', () => {
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
    test.each(Object.entries(PROVIDER))('%s alone is refused', (name, value) => {
        expect(refusal({ [name]: value })).toMatch(/^GATEWAY_OIDC_\w+ must be .+\.$/);
    });
    test.each(['http://127.0.0.1:9000', 'http://localhost:9000/oidc', 'http://[::1]:9000'])('issuer %s', (issuer) => {
        expect(refusal({ ...PROVIDER, GATEWAY_OIDC_ISSUER: issuer })).toBeUndefined();
    });
});
//# sourceMappingURL=settings.test.js.map