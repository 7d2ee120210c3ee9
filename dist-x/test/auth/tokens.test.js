import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, connect as dial } from 'node:net';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAuthorities } from '../../src/auth/authority.js';
import { digestOf, newSecret, wellFormed } from '../../src/auth/tokens.js';
import { packageRoot } from '../../src/config/package.js';
import { Failure } from '../../src/core/failures.js';
import { sql } from '../../src/core/sql.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { counting, freshDatabase } from '../support/database.js';
import { openTestGateway } from '../support/gateway.js';
import { rpc } from '../support/surfaces/mcp.js';
/** The prefixes of secrets, written by hand. A change of a prefix in the product must fail this test. */
const KINDS = {
    installation_live: 'igw_live_',
    installation_test: 'igw_test_',
    access_live: 'igwa_live_',
    access_test: 'igwa_test_',
    refresh_live: 'igwr_live_',
    refresh_test: 'igwr_test_',
    code: 'igwc_',
    session: 'igwp_',
    link: 'igwl_',
    secret: 'igws_',
};
const kinds = Object.keys(KINDS); // Object.keys loses the literal types of the keys
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
function checksum(text) {
    let rest = crc32(text);
    let digits = '';
    for (let i = 0; i < 6; i++) {
        digits = (BASE62[rest % 62] ?? '') + digits;
        rest = Math.floor(rest / 62);
    }
    return digits;
}
const resigned = (body) => body + checksum(body);
let gateway;
let queries = 0;
/** The bytes that the gateway has sent to the store. */
const sent = [];
let wire;
let db;
beforeAll(async () => {
    const own = await freshDatabase('demo');
    wire = createServer((client) => {
        const { host, port } = own;
        const server = host.startsWith('/') ? dial(`${host}/.s.PGSQL.${port}`) : dial({ host, port });
        client.on('data', (part) => sent.push(Buffer.from(part)));
        client
            .on('error', () => server.destroy())
            .pipe(server)
            .on('error', () => client.destroy())
            .pipe(client);
    });
    await new Promise((resolve) => wire.listen(0, '127.0.0.1', resolve));
    // A listening TCP server always has an address with a port.
    const { port } = wire.address();
    const target = { host: '127.0.0.1', port, database: own.name, username: 'postgres' };
    db = openDatabase({ target, connections: 2, statementTimeout: 5_000, name: 'recorded' });
    const counted = counting({ ...own, db }, ({ app }) => {
        if (app !== undefined)
            queries++; // background work sends its statements without an app
    });
    gateway = await openTestGateway('demo', counted);
});
afterAll(async () => {
    await gateway.close();
    await db.close();
    await new Promise((resolve) => wire.close(resolve));
});
const statusOf = async (token) => (await gateway.ask('/api/v1/websites', { token })).status;
describe('TK-01 form of a secret', () => {
    it('TK-01 prefix, 43 base62 characters and their CRC32 in six, for every kind', () => {
        for (const kind of kinds) {
            const secret = newSecret(kind);
            expect(secret).toMatch(new RegExp(`^${KINDS[kind]}[0-9A-Za-z]{49}$`));
            expect(secret.slice(-6)).toBe(checksum(secret.slice(0, -6)));
            expect(wellFormed(secret)).toBe(true);
        }
    });
    it('TK-01 no prefix begins another, so that a scanner tells the kinds apart', () => {
        const prefixes = Object.values(KINDS);
        for (const a of prefixes)
            for (const b of prefixes)
                expect(a !== b && a.startsWith(b)).toBe(false);
    });
    it('TK-01 10,000 secrets are distinct and use every character at every place alike', () => {
        const secrets = Array.from({ length: 10_000 }, () => newSecret('installation_live'));
        expect(new Set(secrets).size).toBe(secrets.length);
        expect(new Set(secrets.map((secret) => secret.slice(9, 30))).size).toBe(secrets.length);
        const counts = new Map();
        for (const secret of secrets)
            for (const char of secret.slice(9, 51))
                counts.set(char, (counts.get(char) ?? 0) + 1);
        expect(counts.size).toBe(62);
        const mean = (secrets.length * 42) / 62;
        for (const [char, count] of counts)
            expect(Math.abs(count / mean - 1), char).toBeLessThan(0.06);
    });
    it('TK-01 property: any one character changed, left out, put in or swapped with its neighbour is refused', () => {
        const seed = Date.now() % 2 ** 31;
        const secret = fc.constantFrom(...kinds).map(newSecret);
        fc.assert(fc.property(secret, fc.nat(), fc.string({ minLength: 1, maxLength: 1, unit: 'binary' }), (good, place, char) => {
            const at = place % good.length;
            for (const bad of [
                good.slice(0, at) + char + good.slice(at + 1),
                good.slice(0, at) + (BASE62[place % 62] ?? '') + good.slice(at + 1),
                good.slice(0, at) + good.slice(at + 1),
                good.slice(0, at) + char + good.slice(at),
                good.slice(0, at) + good.slice(at + 1, at + 2) + good.charAt(at) + good.slice(at + 2),
            ]) {
                if (bad !== good)
                    expect(wellFormed(bad), `${good} ${bad}`).toBe(false);
            }
        }), { seed, numRuns: 1_000, verbose: true });
    });
    it('TK-01 every place of one token × every base62 character is refused', async () => {
        const { token } = await gateway.issue();
        let tried = 0;
        for (let at = 0; at < token.length; at++) {
            for (const char of BASE62) {
                if (char === token[at])
                    continue;
                expect(wellFormed(token.slice(0, at) + char + token.slice(at + 1))).toBe(false);
                tried++;
            }
        }
        expect(tried).toBeGreaterThan(3_000);
    });
});
describe('TK-01 a bad checksum costs no query', () => {
    it('TK-01 malformed and mistyped tokens are 401 on every operation without one statement; good ones do ask', async () => {
        const { token } = await gateway.issue();
        const before = queries;
        expect(await statusOf(token)).toBe(200);
        expect(queries).toBeGreaterThan(before);
        const mistyped = token.slice(0, -1) + (token.endsWith('a') ? 'b' : 'a');
        const unknown = newSecret('installation_test');
        for (const [bad, costs] of [
            [mistyped, false],
            [token.slice(0, -1), false],
            [`${token}0`, false],
            [token.toLowerCase(), false],
            ['igw_live_', false],
            ['x', false],
            [token.replace('igw_test_', 'igw_live_'), false],
            [resigned(`igwr_test_${token.slice(9, -6)}`), false],
            [resigned(`igwx_test_${token.slice(9, -6)}`), false],
            [resigned(`igwa_test_${token.slice(9, -6)}`), true],
            [unknown, true],
        ]) {
            const start = queries;
            expect(await statusOf(bad), bad).toBe(401);
            expect(queries > start, bad).toBe(costs);
        }
        const start = queries;
        for (const { path, method } of gateway.corridor.registry.tools) {
            const url = path.replace(/\{\w+\}/g, 'x');
            const sent = method === 'POST' ? { body: {} } : {};
            expect((await gateway.ask(url, { ...sent, token: mistyped })).status, path).toBe(401);
            expect((await gateway.ask(url, sent)).status, path).toBe(401);
        }
        expect(queries).toBe(start);
    });
    it('TK-01 the same straight at the authorities, for any text', async () => {
        let asked = 0;
        const refuse = async () => {
            asked++;
            throw new Error('asked');
        };
        const authorities = openAuthorities({
            query: refuse,
            read: refuse,
            script: refuse,
            listen: () => expect.fail(),
            close: async () => undefined,
        });
        const text = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^igw_(live|test)_[0-9A-Za-z]{49}$/), fc.stringMatching(/^igws?_?[0-9A-Za-z_]{0,60}$/));
        await fc.assert(fc.asyncProperty(fc.option(text, { nil: undefined }), async (bearer) => {
            await expect(authorities.resolve(bearer, 'rest', undefined)).rejects.toThrow(Failure);
        }), { seed: Date.now() % 2 ** 31, numRuns: 2_000, verbose: true });
        expect(asked).toBe(0);
        await expect(authorities.resolve(newSecret('installation_live'), 'rest', undefined)).rejects.toThrow('asked');
    });
});
describe('TK-04 environments and kinds', () => {
    it.each(['live', 'test'])('TK-04 a %s token under the other prefix, rightly signed, is 401', async (environment) => {
        const { token } = await gateway.issue({ environment });
        expect(token.startsWith(`igw_${environment}_`)).toBe(true);
        const context = await gateway.ask('/api/v1/context', { token });
        expect(context.body.environment).toBe(environment);
        const other = environment === 'live' ? 'test' : 'live';
        const swapped = resigned(`igw_${other}_${token.slice(9, -6)}`);
        expect(wellFormed(swapped)).toBe(true);
        expect(await statusOf(swapped)).toBe(401);
    });
    it('TK-04 a credential’s secret is not a bearer token', async () => {
        const { credential } = await gateway.issue();
        const secret = newSecret('secret');
        await gateway.database.sql `
      UPDATE gateway.credential SET secret_digest = ${digestOf(secret)} WHERE id = ${credential}`;
        expect(await statusOf(secret)).toBe(401);
    });
});
const recorded = (text) => Buffer.concat(sent).includes(text);
it('MC-11 no bearer goes on to the store: of REST and every MCP method only its digest does', async () => {
    const { token } = await gateway.issue();
    sent.splice(0);
    await gateway.ask('/api/v1/context', { token });
    await gateway.ask('/api/v1/conversations?website_id=web_1_1&limit=1', { token });
    const conversations = { name: 'conversations_list', arguments: { website_id: 'web_1_1', limit: 1 } };
    const calls = [
        ['ping'],
        ['tools/list'],
        ['tools/call', conversations],
        ['tools/call', { name: 'ai_conversation_summary', arguments: { website_id: 'web_1_1' } }],
        ['resources/list'],
        ['resources/templates/list'],
        ['resources/read', { uri: 'gateway://config/web_1_1/ai/features' }],
        ['prompts/list'],
        ['prompts/get', { name: 'performance_summary', arguments: { website_id: 'web_1_1', range: 'today' } }],
    ];
    for (const [method, params] of calls) {
        expect((await rpc(gateway.port, token, method, params)).status, method).toBe(200);
    }
    // Prove that the test sees the statements of the calls with their parameters.
    expect(recorded('platform.conversation')).toBe(true);
    expect(recorded('ai_conversation_summary')).toBe(false);
    expect(recorded(token)).toBe(false);
    // Prove that the test would see a token in a statement.
    await db.query(sql `SELECT ${token}::text AS token`);
    expect(recorded(token)).toBe(true);
});
const SECRET = /\bigw(?:[ar]?_(?:live|test)|[a-z])_[0-9A-Za-z]{49}\b/g;
const found = (text) => (text.match(SECRET) ?? []).filter(wellFormed);
it('TK-05 a scanner finds every kind of secret in a text, and none that is mistyped', () => {
    const secrets = kinds.map(newSecret);
    const text = secrets.map((secret, i) => `line ${i}: token="${secret}", next`).join('\n');
    expect(found(text)).toEqual(secrets);
    expect(found(text.replaceAll('", next', 'x", next'))).toEqual([]);
});
it('TK-05 none is in the repository', () => {
    const root = fileURLToPath(packageRoot);
    const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
    expect(files.length).toBeGreaterThan(300);
    const holding = files.filter((file) => found(readFileSync(`${root}/${file}`, 'utf8')).length > 0);
    expect(holding).toEqual([]);
});
//# sourceMappingURL=tokens.test.js.map