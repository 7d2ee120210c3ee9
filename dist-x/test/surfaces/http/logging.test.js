import { spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pino, {} from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openGateway } from '../../../src/gateway/open.js';
import { logSettings, openLog } from '../../../src/process/log.js';
import { StoreUnreachable } from '../../../src/store/driver/errors.js';
import { publicApp } from '../../../src/surfaces/http/app.js';
import { startServer } from '../../../src/surfaces/http/server.js';
import { restSurface } from '../../../src/surfaces/rest/rest.js';
import { BASE_URL, openTestGateway } from '../../support/gateway.js';
import { KEYS } from '../../support/keys.js';
import { bytesOf, examples, parse, raw, withQuery, writer } from '../../support/surfaces/wire.js';
let gateway;
let token;
let calls;
let server;
const lines = [];
const serverOver = (corridor, log, timeouts, metrics) => startServer({
    ...(timeouts && { timeouts }),
    host: '127.0.0.1',
    baseUrl: BASE_URL,
    port: 0,
    tls: undefined,
    log,
    handlers: [restSurface(corridor, BASE_URL)],
    otherwise: publicApp({
        baseUrl: BASE_URL,
        openapi: () => ({}),
        ready: async () => true,
        ...(metrics && { metrics }),
    }),
});
beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await writer(gateway));
    calls = await examples(gateway);
    server = await serverOver(gateway.corridor, pino(logSettings('trace'), { write: (line) => void lines.push(line) }));
});
beforeEach(() => void lines.splice(0));
afterAll(async () => {
    await server.close();
    await gateway.close();
});
/** Each of these requests ends its connection. A slow machine may take long to answer. */
const PATIENT = { patience: 20_000 };
async function send(call, fields, port = server.port) {
    const bytes = bytesOf(call, ...fields, 'Connection: close');
    return parse((await raw(port, bytes, PATIENT)).text);
}
async function get(path, fields = [], port = server.port) {
    const bytes = [`GET ${path} HTTP/1.1`, 'Host: a', ...fields, 'Connection: close', '', ''].join('\r\n');
    return parse((await raw(port, bytes, PATIENT)).text);
}
const MEMBERS = [
    ...['level', 'time', 'request_id', 'method', 'operation', 'status', 'ms', 'credential', 'consent', 'code'],
    ...['operation_id', 'replayed', 'audit', 'decision', 'source', 'unfinished', 'reason', 'err', 'msg'],
];
function entries() {
    return lines.map((line) => {
        expect(line.endsWith('\n')).toBe(true);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for forbidden control characters
        expect(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(line.slice(0, -1)), line).toBe(false);
        const entry = JSON.parse(line);
        expect(Object.keys(entry).filter((key) => !MEMBERS.includes(key))).toEqual([]);
        return entry;
    });
}
/**
 * Waits for the log entries of exactly these requests. The gateway writes an entry when the connection closes. This can
 * be after the answer.
 */
async function entriesOf(count) {
    for (let i = 0; i < 2_000 && lines.length < count; i++)
        await sleep(10);
    await sleep(20);
    expect(lines).toHaveLength(count);
    return entries();
}
describe('LG-01 what the log holds', () => {
    const MARK = 'zqx7canary';
    it('LG-01 one line a request under its id: operation, status, code and credential', async () => {
        const issued = await gateway.issue({ scopes: ['website_read'], dataAccess: [] });
        const bearer = [`Authorization: Bearer ${issued.token}`];
        const answers = [
            await get('/api/v1/websites', bearer),
            await get('/api/v1/contacts?website_id=web_1_1', bearer),
            await get('/api/v1/websites?x=1', bearer),
            await get('/api/v1/websites'),
            await get('/nothing'),
            parse((await raw(server.port, 'rubbish\r\n\r\n', PATIENT)).text),
        ];
        const logged = await entriesOf(answers.length);
        for (const { status, headers } of answers) {
            const mine = logged.filter((entry) => entry.request_id === headers.get('x-request-id'));
            expect(mine).toHaveLength(1);
            expect(mine[0]?.status).toBe(status);
            expect(mine[0]?.level).toBe('info');
        }
        expect(logged.map(({ operation, status, code, credential }) => [operation, status, code, credential])).toEqual([
            ['websites_list', 200, undefined, issued.credential],
            ['contacts_list', 404, 'not_permitted', issued.credential],
            ['websites_list', 400, 'unsupported_parameter', issued.credential],
            ['websites_list', 401, 'unauthenticated', undefined],
            ['none', 404, undefined, undefined],
            ['none', 400, 'invalid_request', undefined],
        ]);
    });
    it('LG-01 no token, header, path, query or stored text, whatever the answer', async () => {
        const bearer = `Authorization: Bearer ${token}`;
        const texts = [];
        let asked = 0;
        for (const call of calls) {
            const { url, path } = call;
            const at = (other) => ({ ...call, url: other });
            const good = await send(call, [bearer]);
            if (call.body)
                expect(good.status, call.tool.name).toBe(200);
            if (good.status === 200)
                for (const [, text = ''] of good.body.matchAll(/"([^"\\]{8,})"/g))
                    texts.push(text);
            const personal = `token=${token}&${MARK}=${MARK}&email=${MARK}@example.com`;
            await send(at(withQuery(url, personal)), [bearer]);
            await get(`${path}/${MARK}?${MARK}`, [bearer, `X-Request-Id: ${MARK}`, `Idempotency-Key: ${MARK}`]);
            await send(call, [`Authorization: Bearer ${MARK}${token}`, `Cookie: ${MARK}`, `User-Agent: ${MARK}`]);
            await send(call, [`Authorization: Bearer ${token}x`, `Referer: https://${MARK}.example/?${MARK}`]);
            await raw(server.port, `GET ${url} HTTP/1.1\r\nHost: ${MARK}\r\n${bearer}\r\n ${MARK}: fold\r\n\r\n`, PATIENT);
            await raw(server.port, `${MARK} ${url} HTTP/1.1\r\n${bearer}\r\n\r\n`, PATIENT);
            asked += 7;
        }
        await entriesOf(asked);
        const all = lines.join('');
        // The network address may be in the log only when the caller is unknown.
        const named = entries().filter(({ source }) => source !== undefined);
        expect(named.length).toBeGreaterThan(0);
        expect(named.filter(({ credential, source }) => credential !== undefined || source !== '127.0.0.1')).toEqual([]);
        expect(all.match(/127\.0\.0\.1/g)).toHaveLength(named.length);
        for (const secret of [token, token.slice(9), MARK, 'Bearer', 'website_id', '/api/v1', 'example.com'])
            expect(all.includes(secret), secret).toBe(false);
        // No text of an answer may be in the log. Only single words such as status names, dates and request ids may be both
        // in an answer and in the log.
        const stored = [...new Set(texts)].filter((text) => !/^([a-z_]+|[0-9-]{10}|req_[a-f0-9]+)$/.test(text));
        expect(stored.length).toBeGreaterThan(300);
        // A line can be logged in the millisecond in which a write was made.
        const untimed = all.replace(/"time":"[^"]*"/g, '');
        expect(untimed.length).toBeLessThan(all.length);
        expect(stored.filter((text) => untimed.includes(text))).toEqual([]);
    });
    it('LG-01 no note, disposition, text for an AI feature, plan or key of a write, whatever becomes of it', async () => {
        const { sql } = gateway.database;
        await sql `INSERT INTO platform.disposition (tenant, site, id, external_id, value, label)
      VALUES (1, 1, 9001, ${MARK}, ${`${MARK} ok`}, 'Marked')`;
        const { token: authorless } = await gateway.issue();
        const bodies = {
            visitor_note_add: { text: `${MARK} note` },
            conversation_disposition_set: { disposition: `${MARK} ok` },
            ai_feature_execute: { context: { type: 'text', text: `${MARK} text` } },
            config_plan: { changes: { name: `${MARK} name` } },
        };
        const ends = [];
        for (const call of calls.filter((one) => one.body)) {
            const body = { ...call.body, ...bodies[call.tool.name] };
            const post = async (bearer, content, key, at = call.url) => {
                const fields = [
                    ...[`POST ${at} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${bearer}`, 'Content-Type: application/json'],
                    ...[`Content-Length: ${Buffer.byteLength(content)}`, `Idempotency-Key: ${key}`, 'Connection: close'],
                ];
                const bytes = `${fields.join('\r\n')}\r\n\r\n${content}`;
                ends.push(parse((await raw(server.port, bytes, PATIENT)).text).status);
            };
            const good = JSON.stringify(body);
            // Send the write so that every outcome occurs: a success, a replay, a conflict, a refusal because of the stored
            // state, a missing author, a missing object, and many faults.
            await post(token, good, `${MARK}-1`);
            await post(token, good, `${MARK}-1`);
            await post(token, good.replace(/ (ok|note|text|name)"/, ' other"'), `${MARK}-1`);
            await post(token, good.replace(/ ok"/, ' none"').replace(/"expected_version":/, '"expected_version":9'), `${MARK}-2`);
            await post(authorless, good, `${MARK}-3`);
            await post(token, good, `${MARK}-4`, call.url.replace(/_[0-9]+(?=\/[a-z]+$)/, '_9223372036854775807'));
            await post(token, good.replace('{', `{"${MARK}":"${MARK}",`), `${MARK}-5`);
            await post(token, good.slice(0, -1), `${MARK}-6`);
            await post(token, good, `${MARK} ${MARK}`);
            await post('x', good, `${MARK}-7`);
        }
        const logged = await entriesOf(ends.length);
        expect(new Set(ends)).toEqual(new Set([200, 400, 401, 404, 409, 503]));
        expect(new Set(logged.map(({ operation }) => operation))).toEqual(new Set(Object.keys(bodies)));
        expect(lines.join('').includes(MARK)).toBe(false);
    });
    it('LG-01 PD-04 500s and 503s carry the kind and place of their cause, never its message', async () => {
        const failing = (error) => {
            const refuse = async () => {
                throw error();
            };
            const db = {
                query: refuse,
                read: refuse,
                script: refuse,
                listen: () => expect.fail(),
                close: async () => undefined,
            };
            return openGateway({ store: { db, slow: db }, keys: KEYS, checkEvery: 1, onDefect: () => undefined });
        };
        const cause = Object.assign(new Error(`row (${MARK}) violates`), {
            code: '23505',
            detail: MARK,
            parameters: [MARK],
        });
        const named = (name, error) => Object.assign(error, { name });
        for (const [status, code, level, kind, error] of [
            [500, 'internal', 'error', 'PostgresError', () => named('PostgresError', new Error(MARK, { cause }))],
            [500, 'internal', 'error', 'Error', () => new Error(`line\n    at ${MARK} (${MARK}.ts:1:1)`)],
            [503, 'authority_unavailable', 'warn', 'StoreUnreachable', () => new StoreUnreachable(MARK, { cause })],
        ]) {
            lines.splice(0);
            const log = pino(logSettings('info'), { write: (line) => void lines.push(line) });
            const broken = await serverOver(await failing(error), log);
            const answers = [];
            for (const call of calls)
                answers.push(await send(call, [`Authorization: Bearer ${token}`], broken.port));
            const logged = await entriesOf(calls.length);
            for (const [i, answer] of answers.entries()) {
                expect(answer.status).toBe(status);
                const { code: told, retry_after } = JSON.parse(answer.body);
                expect([told, answer.headers.get('retry-after'), retry_after]).toEqual(status === 503 ? [code, '1', 1] : [code, undefined, undefined]);
                expect(answer.body).not.toContain(MARK);
                expect(logged[i]).toMatchObject({ level, status, code, request_id: answer.headers.get('x-request-id') });
                expect(logged[i]?.err?.kind).toBe(kind);
                expect(logged[i]?.err?.stack.length).toBeGreaterThan(1);
                expect(logged[i]?.err?.stack[0]).toMatch(/logging\.test\.ts:[0-9]+/);
            }
            expect(lines.join('').includes(MARK)).toBe(false);
            await broken.close();
        }
    });
    it('LG-01 a defect of what is no operation: its cause, too', async () => {
        const refused = async () => {
            throw new Error(MARK);
        };
        const log = pino(logSettings('info'), { write: (line) => void lines.push(line) });
        const page = { type: 'text/plain', permitted: () => true, text: refused };
        const broken = await serverOver(gateway.corridor, log, undefined, page);
        const answer = await get('/metrics', [], broken.port);
        await broken.close();
        expect(answer.status).toBe(500);
        const [logged] = await entriesOf(1);
        expect(logged).toMatchObject({ level: 'error', status: 500, code: 'internal', err: { kind: 'Error' } });
        expect(logged?.err?.stack[0]).toMatch(/logging\.test\.ts:[0-9]+/);
        expect(lines.join('') + answer.body).not.toContain(MARK);
    });
    it('LG-01 any error: no message, no members, and neither a cycle nor a chain of causes hurts', () => {
        const log = pino(logSettings('info'), { write: (line) => void lines.push(line) });
        const cyclic = new Error(MARK);
        cyclic.cause = cyclic;
        let chain = new Error(MARK);
        for (let i = 0; i < 1_000; i++)
            chain = new Error(MARK, { cause: chain });
        const renamed = new Error('before');
        renamed.message = `${MARK}\n    at ${MARK}`;
        for (const err of [
            cyclic,
            chain,
            renamed,
            new AggregateError([new Error(MARK)], MARK),
            Object.assign(new Error(''), { secret: MARK }),
            MARK,
            { MARK },
            null,
            undefined,
        ])
            log.error({ err }, 'request');
        expect(lines).toHaveLength(9);
        expect(lines.join('').includes(MARK)).toBe(false);
        for (const line of lines)
            expect(line.length).toBeLessThan(20_000);
        entries();
    });
});
describe('LG-03 log injection', () => {
    it('LG-03 CR, LF, ESC and fake lines in paths, queries, headers and methods stay outside', async () => {
        const fake = '{"level":"error","msg":"forged"}';
        const encoded = encodeURIComponent(`\r\n${fake}\r\n`);
        const requests = [
            `GET /${encoded} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
            `GET /api/v1/websites?${encoded}=${encoded} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
            `GET /api/v1/guides/%1b[2J HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
            `GET /\x1b[31mred HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
            `GET /api/v1/websites HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${fake}\x1b[0m\r\nConnection: close\r\n\r\n`,
            `GET /api/v1/websites HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\n${fake}\r\nConnection: close\r\n\r\n`,
            `GET /api/v1/websites HTTP/1.1\r\nHost: a\r\nUser-Agent: \u2028${fake}\u0085\r\nConnection: close\r\n\r\n`,
            `${fake}\r\n\r\n`,
            `GET\x1b / HTTP/1.1\r\n\r\n`,
            `GET / HTTP/1.1\x1b\r\n\r\n`,
            `CONNECT ${fake} HTTP/1.1\r\nHost: a\r\n\r\n`,
        ];
        for (const bytes of requests)
            await raw(server.port, bytes, PATIENT);
        await entriesOf(requests.length);
        expect(lines.join('')).not.toMatch(/forged|\\u001b|\\r|\\n|\u2028|\\u2028|\u0085|\\u0085/);
    });
});
describe('F-25 a log that nobody reads', () => {
    it('F-25 requests are served, memory is bounded, and the lines dropped are counted', async () => {
        const folder = mkdtempSync(join(tmpdir(), 'gateway-log-'));
        const pipe = join(folder, 'pipe');
        expect(spawnSync('/usr/bin/mkfifo', [pipe]).status).toBe(0);
        const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
        const writer = openSync(pipe, constants.O_WRONLY);
        const { log } = openLog({ level: 'info', fd: writer });
        const text = 'x'.repeat(1_000);
        const written = 20_000;
        for (let i = 0; i < written; i++)
            log.info({ i, text }, 'filler');
        const stuck = await serverOver(gateway.corridor, log);
        const began = performance.now();
        for (let i = 0; i < 50; i++)
            expect((await get('/api/v1/websites', [`Authorization: Bearer ${token}`], stuck.port)).status).toBe(200);
        expect(performance.now() - began).toBeLessThan(5_000);
        let got = '';
        const buffer = Buffer.alloc(1 << 16);
        const drain = async (until) => {
            // Search only the end: the whole text has 10 MiB.
            let end = '';
            for (let i = 0; i < 2_000 && !end.includes(until); i++) {
                try {
                    const read = readSync(reader, buffer);
                    if (read > 0) {
                        const part = buffer.toString('latin1', 0, read);
                        got += part;
                        end = end.slice(-until.length) + part;
                        continue;
                    }
                }
                catch (error) {
                    if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN'))
                        throw error;
                }
                await sleep(2);
            }
        };
        await drain('log lines dropped');
        log.info('after');
        await drain('"after"');
        await stuck.close();
        const read = got
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line));
        const dropped = read.reduce((sum, entry) => sum + (entry.lines ?? 0), 0);
        expect(got.length).toBeLessThan(10 * 1024 * 1024);
        expect(dropped).toBeGreaterThan(written / 2);
        const ours = read.filter((entry) => entry.lines === undefined).length;
        expect(ours + dropped).toBe(written + 50 + 1);
        closeSync(reader);
        rmSync(folder, { recursive: true });
    });
});
it('a request whose body never comes is told of once, under the id that it was answered with', async () => {
    const log = pino(logSettings('trace'), { write: (line) => void lines.push(line) });
    const checking = { headersTimeout: 200, requestTimeout: 300, connectionsCheckingInterval: 50 };
    const impatient = await serverOver(gateway.corridor, log, {
        ...checking,
        keepAliveTimeout: 500,
        timeout: 5_000,
        reply: 30_000,
    });
    const note = calls.find(({ tool }) => tool.name === 'visitor_note_add') ?? expect.fail('no example');
    const fields = ['Host: a', `Authorization: Bearer ${token}`, 'Content-Type: application/json', 'Content-Length: 900'];
    const bytes = [`POST ${note.url} HTTP/1.1`, ...fields, '', '{'].join('\r\n');
    const { text } = await raw(impatient.port, bytes, PATIENT);
    await impatient.close();
    await entriesOf(1);
    const answer = parse(text);
    expect(answer.status).toBe(408);
    const told = lines.map((line) => JSON.parse(line));
    expect(told[0]).toMatchObject({
        request_id: answer.headers.get('x-request-id'),
        operation: 'visitor_note_add',
        status: 408,
        code: 'invalid_request',
        reason: 'ERR_HTTP_REQUEST_TIMEOUT',
        audit: 'write',
        decision: 'refused',
    });
});
//# sourceMappingURL=logging.test.js.map