import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rotateCredential } from '../../../src/auth/issue.js';
import { dump } from '../../support/cli.js';
import { freshDatabase } from '../../support/database.js';
import { openTestGateway } from '../../support/gateway.js';
import { codeOf, exchangeOf, refreshing, startProcess } from '../../support/oauth/ends.js';
import { basic, cookieOf, csrfOf, formOf, newClient, newPerson, PASSWORD, pkce, post, RESOURCE, request, SAME, token, } from '../../support/oauth/oauth.js';
/** TK-02 and LG-01 for OAuth: a secret occurs only in the one answer that discloses it. */
const WRONG_PASSWORD = 'incorrect horse battery staple';
function recorded(gateway, port, end) {
    const answers = [];
    const ask = async (path, options = {}) => {
        const answer = await exchange(port, path, options);
        answers.push(answer);
        return answer;
    };
    return { gateway: { ...gateway, port, ask }, answers, secrets: [], end };
}
/** Sends one request without the OpenAPI oracle, because the oracle does not know server failures and HTML pages. */
function exchange(port, path, { token: bearer, raw, method, headers }) {
    return new Promise((resolve, reject) => {
        const sent = httpRequest({
            ...{ host: '127.0.0.1', port, path, method: method ?? (raw === undefined ? 'GET' : 'POST') },
            headers: { ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }), ...headers },
        }, (response) => {
            const parts = [];
            response.on('data', (part) => parts.push(part));
            response.on('error', reject);
            response.on('end', () => {
                const bytes = Buffer.concat(parts);
                const text = bytes.toString();
                const json = /json/.test(response.headers['content-type'] ?? '') && text !== '';
                const body = json ? JSON.parse(text) : {};
                resolve({ status: response.statusCode ?? 0, headers: response.headers, text, bytes, body });
            });
        });
        sent.on('error', reject);
        sent.end(raw);
    });
}
async function flows({ gateway, secrets }) {
    const keep = (kind, value, shown = []) => {
        if (typeof value !== 'string' || value.length < 16)
            throw new Error(`no ${kind} to look for`);
        secrets.push({ kind, value, shown });
    };
    const client = await newClient(gateway);
    const { email } = await newPerson(gateway);
    keep('password', PASSWORD);
    keep('wrong password', WRONG_PASSWORD);
    keep('client secret', client.secret);
    keep('Basic header', basic(client).slice('Basic '.length));
    keep('installation token', client.token);
    const authorize = async (choice) => {
        const proof = pkce();
        const query = formOf(request(client, proof));
        keep('verifier', proof.verifier);
        keep('query of authorize', query, 'anywhere');
        keep('state', new URLSearchParams(query).get('state'), 'anywhere');
        await gateway.ask(`/oauth/authorize?${query}`);
        await post(gateway, `/oauth/sign-in?${query}`, { email, password: WRONG_PASSWORD }, SAME);
        const entered = await post(gateway, `/oauth/sign-in?${query}`, { email, password: PASSWORD }, SAME);
        const cookie = cookieOf(entered);
        keep('session', cookie.split('=')[1], [entered]);
        const page = await gateway.ask(`/oauth/authorize?${query}`, { headers: { cookie } });
        const csrf = csrfOf(page);
        const send = (fields, path = 'consent') => post(gateway, `/oauth/${path}?${query}`, fields, { ...SAME, cookie });
        const empty = await send({ csrf, decision: 'approve' });
        keep('csrf', csrf, [page, empty]);
        await send({ csrf: `${csrf}x`, ...choice });
        const answer = await send({ csrf, ...choice });
        await send({ csrf, ...choice });
        await send({}, 'sign-out');
        return { answer, proof };
    };
    const ticked = { scope: ['website_read', 'conversation_read'], website_id: 'web_1_1', renewal: 'yes' };
    const given = (answer) => {
        expect(answer.status, answer.text).toBe(200);
        keep('access token', answer.body.access_token, [answer]);
        if (answer.body.refresh_token !== undefined)
            keep('refresh token', answer.body.refresh_token, [answer]);
        return answer;
    };
    const denied = await authorize({ ...ticked, decision: 'deny' });
    expect(denied.answer.headers.location).toContain('error=access_denied');
    const { answer: approved, proof } = await authorize({ ...ticked, decision: 'approve' });
    const code = codeOf(approved);
    keep('code', code, [approved]);
    const whole = exchangeOf(client, code, proof);
    // Mistakes of a client. Each request contains secrets that an error must not repeat.
    await token(gateway, { ...client, secret: `${client.secret}x` }, whole);
    // The unknown parameter is ignored. The repeated code makes the gateway refuse the request.
    await token(gateway, client, { ...whole, [code]: code, code: [code, code] });
    await token(gateway, client, { ...whole, grant_type: `urn:${code}` });
    await token(gateway, client, { ...whole, resource: `${RESOURCE.rest}/${code}` });
    await post(gateway, '/oauth/token', { ...whole, client_id: client.credential, client_secret: client.secret });
    await post(gateway, `/oauth/token?${formOf(whole)}`, whole, { authorization: basic(client) });
    await post(gateway, '/oauth/token', JSON.stringify(whole), {
        'content-type': 'application/json',
        authorization: basic(client),
    });
    await post(gateway, '/oauth/token', `${formOf(whole)}&%`, { authorization: basic(client) });
    await gateway.ask(`/oauth/token?${formOf(whole)}`);
    await gateway.ask(`/oauth/${code}/${client.secret}`);
    await failing(gateway.database, () => token(gateway, client, whole));
    const first = given(await token(gateway, client, whole));
    const bearer = first.body.access_token;
    for (const path of ['/api/v1/websites', '/api/v1/context', `/api/v1/websites?access_token=${bearer}`]) {
        await gateway.ask(path, { token: bearer });
    }
    await gateway.ask(`/api/v1/conversations/${bearer}`, { token: bearer });
    await gateway.ask('/mcp', { token: bearer, raw: '{}', headers: { 'content-type': 'application/json' } });
    await gateway.ask(`/callback?code=${code}&iss=x`);
    const second = given(await token(gateway, client, refreshing(first.body.refresh_token)));
    await token(gateway, client, { ...refreshing(second.body.refresh_token), scope: second.body.refresh_token });
    await token(gateway, client, refreshing(first.body.refresh_token));
    await token(gateway, client, whole);
    const mine = given(await token(gateway, client, { grant_type: 'client_credentials', resource: RESOURCE.mcp }));
    await gateway.ask('/api/v1/websites', { token: mine.body.access_token });
    for (const one of [mine.body.access_token, second.body.refresh_token, bearer]) {
        await post(gateway, '/oauth/revoke', { token: one, token_type_hint: one }, { authorization: basic(client) });
        await post(gateway, '/oauth/revoke', { token: one }, { authorization: basic(client) });
    }
    const rotated = await rotateCredential(gateway.database.db, client.credential, 60);
    keep('rotated secret', rotated?.secret);
    const renewed = { ...client, secret: rotated?.secret ?? '' };
    given(await token(gateway, renewed, { grant_type: 'client_credentials', resource: RESOURCE.rest }));
}
async function failing({ sql }, run) {
    await sql `ALTER FUNCTION gateway.redeem_code RENAME TO redeemed`;
    expect((await run()).status).toBe(500);
    await sql `ALTER FUNCTION gateway.redeemed RENAME TO redeem_code`;
}
/** The forms in which a secret can leak: in clear text, percent-encoded, or inside other bytes as hex or base64. */
function forms(secret) {
    const bytes = Buffer.from(secret);
    const base64 = [0, 1, 2].map((before) => {
        const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
        // The first and the last characters of the base64 text also encode neighbouring bytes. Compare only the middle.
        return text.slice(before === 0 ? 0 : 4, -4);
    });
    const all = [
        secret,
        encodeURIComponent(secret),
        new URLSearchParams({ a: secret }).toString().slice(2),
        bytes.toString('hex'),
        ...base64,
        ...base64.map((one) => one.replaceAll('+', '-').replaceAll('/', '_')),
    ];
    return [...new Set(all)];
}
function found(text, secrets) {
    const joined = text.replaceAll(/\\?\n|\\n/g, '');
    const lower = text.toLowerCase();
    return secrets
        .filter(({ value }) => {
        const all = forms(value);
        const hex = Buffer.from(value).toString('hex');
        return lower.includes(hex) || all.some((one) => text.includes(one) || joined.includes(one));
    })
        .map(({ kind }) => kind);
}
const linesOf = ({ status, headers, text }) => `${status}\n${JSON.stringify(headers)}\n${text}`;
const leaks = ({ answers, secrets }, log, database) => [
    ...found(log, secrets).map((kind) => `${kind} in the log`),
    ...found(database, secrets).map((kind) => `${kind} in the database`),
    ...answers.flatMap((answer, i) => {
        const hidden = secrets.filter(({ shown }) => shown !== 'anywhere' && !shown.includes(answer));
        return found(linesOf(answer), hidden).map((kind) => `${kind} in answer ${i} of status ${answer.status}`);
    }),
];
const KINDS = [
    ...['password', 'wrong password', 'client secret', 'rotated secret', 'Basic header', 'installation token'],
    ...['verifier', 'query of authorize', 'state', 'session', 'csrf', 'code', 'access token', 'refresh token'],
];
const COLUMNS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
let database;
let inner;
let folder;
beforeAll(async () => {
    database = await freshDatabase('demo');
    inner = await openTestGateway('demo', { ...database, close: async () => undefined });
    folder = mkdtempSync(join(tmpdir(), 'gateway-secrets-'));
});
afterAll(async () => {
    await inner.close();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
});
/**
 * Starts a process that logs to a file. Descriptor 1 is closed first, so the opened log file becomes standard output.
 */
async function processAt(log) {
    const code = `import{closeSync,openSync}from'node:fs';closeSync(1);openSync(${JSON.stringify(log)},'a')`;
    const { host, port, name } = database;
    const replica = await startProcess({
        databaseUrl: `postgres://postgres@${encodeURIComponent(host)}:${port}/${name}`,
        env: { LOG_LEVEL: 'trace', NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` },
    });
    return recorded(inner, Number(new URL(replica.url).port), async () => {
        await replica.end();
        return readFileSync(log, 'utf8') + replica.stderr();
    });
}
describe.each([
    ['a process and its production log', () => processAt(join(folder, 'log'))],
    ['this process and a log of everything', async () => recorded(inner, inner.port, async () => inner.log.join(''))],
])('%s', (_name, open) => {
    let world;
    let log;
    let stored;
    beforeAll(async () => {
        world = await open();
        await flows(world);
        log = await world.end();
        stored = await dump(database);
    });
    it('TK-02, LG-01, OA-12 no secret is in the log, in the database, or in an answer but the one that disclosed it', () => {
        expect(new Set(world.secrets.map(({ kind }) => kind))).toEqual(new Set(KINDS));
        expect(log.match(/"operation":"oauth_token"/g)?.length).toBeGreaterThan(15);
        expect(log).toContain('"operation":"oauth_consent"');
        expect(world.answers.length).toBeGreaterThan(45);
        expect(stored.length).toBeGreaterThan(1_000_000);
        expect(leaks(world, log, stored)).toEqual([]);
    });
    it('what is disclosed is found in the answer that discloses it', () => {
        for (const { kind, value, shown } of world.secrets) {
            if (shown === 'anywhere')
                continue;
            for (const answer of shown)
                expect(found(linesOf(answer), [{ kind, value, shown: [] }]), kind).toEqual([kind]);
        }
    });
    it('a planted leak is found: of each kind, in each form, in each place', {
        meta: { shown: { planted: 1 } },
    }, async () => {
        let planted = 0;
        const ofEach = KINDS.map((kind) => world.secrets.find((one) => one.kind === kind) ?? expect.fail(kind));
        for (const [n, { value }] of ofEach.entries())
            await database.sql `CREATE TABLE ${database.sql(`public.leak_${n}`)} AS SELECT ${`x${value}`}::text AS a,
        convert_to(${value}, 'UTF8') AS b, encode(convert_to(${value}, 'UTF8'), 'hex') AS c,
        upper(encode(convert_to(${value}, 'UTF8'), 'hex')) AS d, encode(convert_to(${`xy${value}`}, 'UTF8'), 'base64') AS e,
        encode(convert_to(${value}, 'UTF8'), 'escape') AS f, ARRAY[${value}] AS g,
        jsonb_build_object('a', ${value}::text) AS h, convert_to(${`x${value}z`}, 'UTF8') AS i`;
        expect(found(await dump(database), ofEach)).toEqual(KINDS);
        // A planted line is found after whatever stands before it, so the end of the log is enough.
        const end = log.slice(-10_000);
        for (const [n, secret] of ofEach.entries()) {
            const { kind, value } = secret;
            const leaksOf = (answers, lines, dumped) => leaks({ ...world, answers: [...answers], secrets: [secret] }, lines, dumped);
            const [row = expect.fail('no row')] = await database.sql.unsafe(`SELECT ${COLUMNS.map((column) => `${column}::text`).join()} FROM public.leak_${n}`);
            for (const column of COLUMNS) {
                const bytes = /\\x([0-9a-f]+)/.exec(row[column] ?? '')?.[1] ?? '';
                const dumped = `${row[column]}\n${Buffer.from(bytes, 'hex').toString('latin1')}`;
                expect(leaksOf([], '', dumped), `${kind} ${column}`).toHaveLength(1);
                planted++;
            }
            await database.sql `DROP TABLE ${database.sql(`public.leak_${n}`)}`;
            const lines = [
                JSON.stringify({ url: `/x?a=${encodeURIComponent(value)}` }),
                JSON.stringify({ authorization: `Bearer ${value}` }),
            ];
            for (const line of lines) {
                expect(leaksOf([], end + line, ''), kind).toHaveLength(1);
                planted++;
            }
            if (secret.shown === 'anywhere')
                continue;
            const [answer = expect.fail('no answer')] = world.answers;
            for (const leak of [
                { ...answer, text: JSON.stringify({ error_description: `not ${value}` }) },
                { ...answer, headers: { location: `https://app.example/cb?a=${encodeURIComponent(value)}` } },
            ]) {
                expect(leaksOf([leak], '', ''), kind).toHaveLength(1);
                planted++;
            }
        }
        expect(planted).toBe(KINDS.length * 11 + (KINDS.length - 2) * 2);
    });
});
//# sourceMappingURL=secrets.test.js.map