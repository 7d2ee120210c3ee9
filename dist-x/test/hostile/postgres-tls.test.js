import { afterEach, expect, test } from 'vitest';
import { sql } from '../../src/core/sql.js';
import { explainSource } from '../../src/sources/follow/explain.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { CERTIFICATE, KEY } from '../support/events/certificate.js';
import { hostileServer, message } from '../support/hostile/postgres-server.js';
/** TLS to the database server of a helpdesk. The messages inside TLS are checked as those without it. */
const honest = (messages) => ({ bytes: Buffer.concat(messages) });
const kerberos = () => ({ bytes: message('R', Buffer.from([0, 0, 0, 7])) });
let servers = [];
afterEach(async () => {
    await Promise.all(servers.map((server) => server.close()));
    servers = [];
});
/** Returns the number of rows, or what an operator reads. */
async function asked(one, query, tls = true, host = '127.0.0.1') {
    const full = { stage: 'rows', auth: 'scram', change: honest, ...one };
    const server = await hostileServer(() => full, tls ? { key: KEY, cert: CERTIFICATE } : undefined);
    servers.push(server);
    const target = `postgres://reader:correct-horse@${host}:${server.port}/chatwoot${query}`;
    const db = openDatabase({ target, connections: 1, statementTimeout: 5_000, name: 'tls', foreign: true });
    try {
        return (await db.query(sql `SELECT ${1}::integer AS a, 'x' AS b`)).length;
    }
    catch (error) {
        return explainSource(error);
    }
    finally {
        await db.close();
    }
}
test('a server with TLS is understood, and its messages are checked inside TLS', async () => {
    expect(await asked({}, '?sslmode=require')).toBe(3);
    expect(await asked({}, '?sslmode=prefer')).toBe(3);
    expect(await asked({ stage: 'auth', change: kerberos }, '?sslmode=require')).toContain('kind of authentication');
});
test('verify-full refuses a certificate that nobody trusts, and a server without TLS', async () => {
    expect(await asked({}, '?sslmode=verify-full')).toContain('DEPTH_ZERO_SELF_SIGNED_CERT');
    expect(await asked({}, '?sslmode=require', false)).toContain('offers no TLS');
    expect(await asked({}, '?sslmode=prefer', false)).toBe(3);
});
test('bytes behind the answer to the request for TLS are refused', async () => {
    const stuffed = () => ({ bytes: Buffer.concat([Buffer.from('S'), message('R', Buffer.alloc(4))]) });
    expect(await asked({ stage: 'ssl', change: stuffed }, '?sslmode=require')).toContain('offers no TLS');
});
test('a password in clear text goes to this machine only, or to a checked certificate', async () => {
    expect(await asked({ auth: 'password' }, '')).toBe(3);
    // 0.0.0.0 leads to this machine, but the gateway takes it for another one.
    const away = '0.0.0.0';
    expect(await asked({ auth: 'password' }, '?sslmode=require', true, away)).toContain('password in clear text');
    expect(await asked({ auth: 'password' }, '?sslmode=disable', true, away)).toContain('password in clear text');
    expect(await asked({}, '?sslmode=require', true, away)).toBe(3);
});
test('an address without sslmode leads to no other machine', async () => {
    expect(await asked({}, '', true, '0.0.0.0')).toContain('has no sslmode');
    expect(servers[0]?.connections('chatwoot')).toBe(0);
    expect(await asked({}, '?sslmode=disable', true, '0.0.0.0')).toBe(3);
});
//# sourceMappingURL=postgres-tls.test.js.map