import { createConnection } from 'node:net';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newSecret } from '../../src/auth/tokens.js';
import { tellRunCall } from '../../src/observe/run-calls.js';
import { teller } from '../../src/surfaces/http/records.js';
import { Client, connected, holder, openSession } from '../support/events/realtime.js';
import { eventually } from '../support/eventually.js';
import { BASE_URL, openTestGateway } from '../support/gateway.js';
import { family, refreshing, session } from '../support/oauth/ends.js';
import { basic, csrfOf, decide, formOf, newClient, newPerson, PASSWORD, pkce, post, request, SAME, token as tokenOf, } from '../support/oauth/oauth.js';
import { rpc as a2a, work } from '../support/surfaces/a2a.js';
import { rpc as mcp } from '../support/surfaces/mcp.js';
import { examples, freshKey, parse, raw, writer } from '../support/surfaces/wire.js';
/**
 * LG-02: every act that a person or an app must answer for has an audit record. The record names the actor, the act,
 * the request and the decision.
 */
const MARK = 'zqx7canary';
let gateway;
let client;
let own;
let note;
let feature;
let contact;
const seen = [];
beforeAll(async () => {
    gateway = await openTestGateway();
    const push = gateway.log.push.bind(gateway.log);
    gateway.log.push = (...lines) => {
        seen.push(...lines);
        return push(...lines);
    };
    client = await newClient(gateway);
    own = await writer(gateway);
    const calls = await examples(gateway);
    const of = (name) => calls.find(({ tool }) => tool.name === name) ?? expect.fail(name);
    note = of('visitor_note_add');
    feature = of('ai_feature_execute');
    contact = of('contact_get');
});
beforeEach(() => void gateway.log.splice(0));
afterAll(() => gateway.close());
const audits = () => gateway.log.map((line) => JSON.parse(line)).filter((line) => line['audit'] !== undefined);
async function recordOf(requestId) {
    await eventually(() => expect(audits().some((line) => line['request_id'] === requestId)).toBe(true));
    const all = audits().filter((line) => line['request_id'] === requestId);
    expect(all).toHaveLength(1);
    return all[0] ?? {};
}
const idOf = ({ headers }) => headers['x-request-id'];
const addNote = (bearer, text, key = freshKey()) => gateway.ask(note.url, { token: bearer, body: { text }, headers: { 'idempotency-key': key } });
describe('LG-02 authentication', () => {
    it('LG-02 a bearer that is none, unknown, expired, revoked or bound elsewhere, whose it was where that is known', async () => {
        const expired = await gateway.issue({ expires: '-1 hour' });
        const revoked = await gateway.issue();
        await gateway.database.sql `UPDATE gateway.credential SET revoked_at = now() WHERE id = ${revoked.credential}`;
        const { access, consent } = await family(gateway, client, { resource: 'mcp' });
        gateway.log.splice(0);
        for (const [bearer, code, credential] of [
            [undefined, 'unauthenticated', undefined],
            [MARK, 'unauthenticated', undefined],
            [newSecret('installation_test'), 'unauthenticated', undefined],
            [expired.token, 'token_expired', expired.credential],
            [revoked.token, 'token_revoked', revoked.credential],
            [access, 'wrong_resource', client.credential],
        ]) {
            const rest = await gateway.ask('/api/v1/websites', { token: bearer });
            expect(rest.status).toBe(401);
            const expected = { operation: 'websites_list', code, audit: 'authentication', decision: 'refused' };
            const record = await recordOf(idOf(rest));
            expect(record).toMatchObject({ ...expected, source: '127.0.0.1' });
            expect(record['credential']).toBe(credential);
            if (bearer === access)
                continue;
            for (const [name, answer] of [
                ['mcp', await mcp(gateway.port, bearer, 'tools/list')],
                ['a2a', await a2a(gateway.port, bearer, 'ListTasks', {})],
            ]) {
                expect(answer.status).toBe(401);
                expect(await recordOf(idOf(answer))).toMatchObject({ ...expected, operation: name, source: '127.0.0.1' });
            }
        }
        expect(consent).toMatch(/^cns_/);
    });
    it('LG-02 clients, codes, people and tickets that are not what they say', async () => {
        const stranger = { ...client, secret: newSecret('secret') };
        const bad = await tokenOf(gateway, stranger, { grant_type: 'client_credentials', resource: BASE_URL });
        expect(bad.status).toBe(401);
        expect(await recordOf(idOf(bad))).toMatchObject({
            operation: 'oauth_token',
            code: 'invalid_client',
            decision: 'refused',
        });
        const code = await tokenOf(gateway, client, {
            grant_type: 'authorization_code',
            code: newSecret('code'),
            redirect_uri: client.callback,
            code_verifier: pkce().verifier,
            resource: BASE_URL,
        });
        expect(await recordOf(idOf(code))).toMatchObject({
            code: 'invalid_grant',
            credential: client.credential,
            audit: 'authentication',
        });
        const query = formOf(request(client, pkce()));
        const person = await post(gateway, `/oauth/sign-in?${query}`, { email: `${MARK}@example.com`, password: MARK }, SAME);
        expect(await recordOf(idOf(person))).toMatchObject({
            operation: 'oauth_sign_in',
            code: 'credentials',
            source: '127.0.0.1',
            audit: 'authentication',
            decision: 'refused',
        });
        const { token } = await holder(gateway);
        const opened = await openSession(gateway, token);
        // The first ticket belongs to nobody, and the second ticket has an invalid form.
        for (const ticket of [Buffer.alloc(32).toString('base64url'), 'AAAA']) {
            gateway.log.splice(0);
            await new Client(gateway.port, { ...opened, ticket }).closed;
            const refused = {
                operation: 'realtime_socket',
                audit: 'authentication',
                decision: 'refused',
                source: '127.0.0.1',
            };
            await eventually(() => expect(audits().at(-1)).toMatchObject(refused));
        }
    });
});
describe('LG-02 authorization', () => {
    it('LG-02 a scope that lacks and a website that is not held, on all surfaces', async () => {
        const narrow = await gateway.issue({
            scopes: ['website_read', 'conversation_read', 'live_read'],
            websites: ['web_1_1'],
        });
        const refused = { credential: narrow.credential, audit: 'authorization', decision: 'refused' };
        const scope = await gateway.ask('/api/v1/contacts?website_id=web_1_1', { token: narrow.token });
        expect(await recordOf(idOf(scope))).toMatchObject({
            ...refused,
            operation: 'contacts_list',
            code: 'not_permitted',
        });
        const outside = await gateway.ask('/api/v1/channels?website_id=web_1_2', { token: narrow.token });
        expect(outside.status).toBe(404);
        expect(await recordOf(idOf(outside))).toMatchObject({ ...refused, operation: 'channels', code: 'not_found' });
        const tool = await mcp(gateway.port, narrow.token, 'tools/call', {
            name: 'contacts_list',
            arguments: { website_id: 'web_1_1' },
        });
        expect(await recordOf(idOf(tool))).toMatchObject({ ...refused, operation: 'contacts_list', code: 'not_permitted' });
        const foreign = ['web_1_999'];
        const thin = { payload_mode: 'thin', delivery: { mode: 'pull' }, start: 'beginning' };
        const subscribed = await gateway.ask('/api/v1/subscriptions', {
            token: own.token,
            body: { ...thin, website_ids: foreign, event_types: ['website.changed'] },
            headers: { 'idempotency-key': freshKey() },
        });
        const outsider = { credential: own.credential, code: 'not_found', audit: 'authorization', decision: 'refused' };
        expect(await recordOf(idOf(subscribed)), subscribed.text).toMatchObject(outsider);
        const prompt = await mcp(gateway.port, own.token, 'prompts/get', {
            name: 'performance_summary',
            arguments: { website_id: foreign[0], range: 'today' },
        });
        expect(await recordOf(idOf(prompt)), prompt.text).toMatchObject({ ...outsider, operation: 'mcp' });
        const skill = await a2a(gateway.port, narrow.token, 'SendMessage', work('contact_inspection', { contact_id: 'con_1_1_1' }));
        expect(await recordOf(idOf(skill))).toMatchObject({
            ...refused,
            operation: 'contact_inspection',
            code: 'not_permitted',
        });
        const name = 'performance_summary';
        const listed = await mcp(gateway.port, narrow.token, 'prompts/get', { name, arguments: {} });
        expect(await recordOf(idOf(listed)), listed.text).toMatchObject({
            ...refused,
            operation: 'mcp',
            code: 'not_permitted',
        });
        await mcp(gateway.port, narrow.token, 'prompts/get', { name: MARK, arguments: {} });
        expect(audits()).toHaveLength(7);
    });
    it('LG-02 another website’s record, feature or settings, by a task too', async () => {
        const { token, credential } = await gateway.issue({ websites: ['web_1_1'] });
        const refused = { credential, code: 'not_found', audit: 'authorization', decision: 'refused' };
        const features = '/ai/features/aif_1_2_1';
        const item = await gateway.ask(`/api/v1/settings/item?website_id=web_1_1&path=${features}`, { token });
        expect(item.status).toBe(404);
        expect(await recordOf(idOf(item))).toMatchObject({ ...refused, operation: 'config_get' });
        for (const [skill, operation, input] of [
            ['contact_inspection', 'contact_get', { contact_id: 'ctc_1_2_1' }],
            ['configuration_inspection', 'config_get', { website_id: 'web_1_1', path: features }],
            ['offline_language_detection', 'ai_feature_execute', { ...feature.body, feature_id: 'aif_1_2_1' }],
        ]) {
            const sent = await a2a(gateway.port, token, 'SendMessage', work(skill, input));
            expect(sent.body.result?.task.status.state, sent.text).toBe('TASK_STATE_FAILED');
            expect(await recordOf(idOf(sent))).toMatchObject({
                ...refused,
                msg: 'call of a task',
                task: sent.body.result.task.id,
                operation,
            });
        }
    });
    it('LG-02 strangers, by the address that they came from', async () => {
        const refused = { decision: 'refused', source: '127.0.0.1' };
        const stranger = async (answer) => {
            const record = await recordOf(idOf(answer));
            expect(record['credential']).toBeUndefined();
            return record;
        };
        for (const headers of [{ origin: 'https://evil.example' }, { host: 'evil.example' }]) {
            const foreign = await mcp(gateway.port, own.token, 'tools/list', undefined, { headers });
            const named = { ...refused, operation: 'mcp', code: 'origin_not_allowed', audit: 'authorization' };
            expect(await stranger(foreign)).toMatchObject(named);
        }
        const wrote = { ...refused, operation: 'visitor_note_add', audit: 'write' };
        const html = await gateway.ask(note.url, { method: 'POST', headers: { accept: 'text/html' }, unchecked: true });
        expect(await stranger(html)).toMatchObject({ ...wrote, code: 'not_acceptable' });
        const origins = { origin: ['https://a.example', 'https://b.example'] };
        const open = await gateway.ask('/api/v1/realtime/sessions', { method: 'POST', headers: origins, unchecked: true });
        expect(await stranger(open)).toMatchObject({ ...wrote, operation: 'realtime_session_create' });
        // The body ends with an invalid chunk. The code that answers such a request does not know the token's owner.
        const broken = [
            `POST ${note.url} HTTP/1.1`,
            'Host: a',
            `Authorization: Bearer ${newSecret('installation_test')}`,
            'Content-Type: application/json',
            'Transfer-Encoding: chunked',
        ];
        const { text } = await raw(gateway.port, `${broken.join('\r\n')}\r\n\r\nno length\r\n`);
        const cut = { ...wrote, code: 'invalid_request', status: 400 };
        expect(await stranger({ headers: { 'x-request-id': parse(text).headers.get('x-request-id') } })).toMatchObject(cut);
        // The app is unknown or the callback is wrong. The gateway therefore shows the refusal on a page instead of
        // redirecting.
        const asked = request(client, pkce());
        for (const [fields, credential] of [
            [{ ...asked, redirect_uri: 'https://evil.example/' }, client.credential],
            [{ ...asked, client_id: MARK }, undefined],
        ]) {
            const page = await gateway.ask(`/oauth/authorize?${formOf(fields)}`, { unchecked: true });
            const record = await recordOf(idOf(page));
            expect(record).toMatchObject({ ...refused, operation: 'oauth_authorize', audit: 'authorization' });
            expect([record['code'], record['credential']]).toEqual(['invalid_request', credential]);
        }
    });
    it('LG-02 a stream that ends because its credential did', async () => {
        const one = await holder(gateway);
        const stream = await connected(gateway, one.token);
        await gateway.database.sql `UPDATE gateway.credential SET revoked_at = now() WHERE id = ${one.credential}`;
        await stream.closed;
        await eventually(() => expect(audits().at(-1)).toMatchObject({
            msg: 'socket closed',
            reason: 'authority',
            credential: one.credential,
            audit: 'authorization',
            decision: 'refused',
        }));
    });
    it('reads that are answered and requests that are not understood are not audited', async () => {
        for (const path of ['/api/v1/websites', '/api/v1/websites?x=1', '/api/v1/contacts/con_1_1_999999999'])
            await gateway.ask(path, { token: own.token });
        await eventually(() => expect(gateway.log).toHaveLength(3));
        expect(audits()).toEqual([]);
    });
});
describe('LG-02 consents and their end', () => {
    it('LG-02 given and denied: person, client and, where given, the consent', async () => {
        const { id } = await newPerson(gateway);
        const cookie = await session(gateway, id);
        const asked = () => formOf(request(client, pkce()));
        const given = await decide(gateway, asked(), cookie);
        const [row] = await gateway.database.sql `SELECT id FROM gateway.consent WHERE person_id = ${id}`;
        const who = { operation: 'oauth_consent', credential: client.credential, person: id, audit: 'consent' };
        expect(await recordOf(idOf(given))).toMatchObject({ ...who, consent: row?.id, decision: 'allowed' });
        const denied = await decide(gateway, asked(), cookie, { decision: 'deny' });
        expect(await recordOf(idOf(denied))).toMatchObject({ ...who, code: 'access_denied', decision: 'refused' });
    });
    it('LG-02 what a client ends: a token, a consent, or nothing; and a session', async () => {
        const { access, refresh, consent, person } = await family(gateway, client);
        const end = (token) => post(gateway, '/oauth/revoke', { token }, { authorization: basic(client) });
        const ended = {
            operation: 'oauth_revoke',
            credential: client.credential,
            audit: 'revocation',
            decision: 'allowed',
        };
        expect(await recordOf(idOf(await end(access)))).toMatchObject({ ...ended, ended: 'token', consent });
        expect(await recordOf(idOf(await end(refresh)))).toMatchObject({ ...ended, ended: 'consent', consent });
        const again = await recordOf(idOf(await end(refresh)));
        expect(again).toMatchObject({ ...ended, ended: 'nothing' });
        expect(again['consent']).toBeUndefined();
        const [live] = await gateway.database
            .sql `SELECT FROM gateway.token WHERE consent_id = ${consent} AND revoked_at IS NULL`;
        expect(live).toBeUndefined();
        const cookie = await session(gateway, person);
        const out = await post(gateway, `/oauth/sign-out?${formOf(request(client, pkce()))}`, '', { ...SAME, cookie });
        expect(await recordOf(idOf(out))).toMatchObject({ operation: 'oauth_sign_out', audit: 'revocation' });
    });
    it('LG-02 a refresh token shown again and a code used twice end a whole consent, which is told', async () => {
        const told = { operation: 'oauth_token', audit: 'authentication', decision: 'refused', code: 'invalid_grant' };
        const rotated = await family(gateway, client);
        await tokenOf(gateway, client, refreshing(rotated.refresh));
        const reused = await tokenOf(gateway, client, refreshing(rotated.refresh));
        const spent = await family(gateway, client);
        const misused = await tokenOf(gateway, client, spent.exchange);
        for (const [answer, { consent }, because] of [
            [reused, rotated, 'refresh_reused'],
            [misused, spent, 'code_misused'],
        ]) {
            // The client gets the usual OAuth error. Only the audit record names the reason.
            expect([answer.status, Object.keys(answer.body)]).toEqual([400, ['error', 'error_description']]);
            const credential = client.credential;
            const ended = { ...told, credential, consent, ended: 'consent', because, source: '127.0.0.1' };
            expect(await recordOf(idOf(answer))).toMatchObject(ended);
            // The consent has already ended, so the second use of the token ends nothing.
            const again = await recordOf(idOf(await tokenOf(gateway, client, refreshing(rotated.refresh))));
            expect(again).toMatchObject({ ...told, credential });
            expect([again['ended'], again['consent'], again['because']]).toEqual([undefined, undefined, undefined]);
        }
    });
    it('LG-02 forms that are not ours, changed, or of a session that is over', async () => {
        const { id, email } = await newPerson(gateway);
        const cookie = await session(gateway, id);
        const query = formOf(request(client, pkce()));
        const page = await gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, headers: { cookie } });
        const choice = { csrf: csrfOf(page), scope: 'website_read', website_id: 'web_1_1', decision: 'approve' };
        const send = (path, fields, headers) => post(gateway, `/oauth/${path}?${query}`, fields, headers);
        const ours = { ...SAME, cookie };
        const foreign = { ...ours, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
        const plain = { ...foreign, 'content-type': 'text/plain' };
        for (const [operation, audit, answer] of [
            ['oauth_consent', 'consent', await send('consent', { ...choice, csrf: MARK }, ours)],
            ['oauth_consent', 'consent', await send('consent', { ...choice, scope: MARK }, ours)],
            ['oauth_consent', 'consent', await send('consent', choice, foreign)],
            ['oauth_consent', 'consent', await send('consent', choice, plain)],
            ['oauth_sign_in', 'authentication', await send('sign-in', { email, password: MARK }, foreign)],
            ['oauth_sign_in', 'authentication', await send('sign-in', { email, password: MARK, [MARK]: MARK }, ours)],
            ['oauth_sign_out', 'revocation', await send('sign-out', '', foreign)],
            ['oauth_sign_out', 'revocation', await send('sign-out', { [MARK]: MARK }, ours)],
        ]) {
            const refused = { operation, audit, decision: 'refused', code: 'invalid_request', source: '127.0.0.1' };
            expect(await recordOf(idOf(answer)), answer.text).toMatchObject(refused);
        }
        await send('consent', { csrf: choice.csrf, decision: 'approve' }, ours);
        const before = audits().length;
        const out = await recordOf(idOf(await send('sign-out', '', ours)));
        expect(out).toMatchObject({ operation: 'oauth_sign_out', audit: 'revocation', decision: 'allowed', person: id });
        expect(audits()).toHaveLength(before + 1);
        const late = await recordOf(idOf(await send('consent', choice, ours)));
        expect(late).toMatchObject({ audit: 'authentication', decision: 'refused', code: 'session_ended' });
        expect(late).toMatchObject({ operation: 'oauth_consent', credential: client.credential, source: '127.0.0.1' });
        // Nobody is signed in any more, so the sign-out leaves no record. The display of a page also leaves no record.
        await send('sign-out', '', ours);
        await gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, headers: { cookie } });
        expect(audits()).toHaveLength(before + 2);
        const { location } = (await send('sign-in', { email, password: PASSWORD }, SAME)).headers;
        expect(location).toContain('/oauth/authorize?');
        const signedIn = { audit: 'authentication', decision: 'allowed', person: id, source: '127.0.0.1' };
        expect(audits().at(-1)).toMatchObject(signedIn);
    });
    it('LG-02 a revocation of which nobody can say whether it was done', async () => {
        const { access } = await family(gateway, client);
        await gateway.database.sql `ALTER FUNCTION gateway.client_proved RENAME TO proved`;
        const answer = await post(gateway, '/oauth/revoke', { token: access }, { authorization: basic(client) });
        await gateway.database.sql `ALTER FUNCTION gateway.proved RENAME TO client_proved`;
        expect(answer.status).toBe(500);
        const unknown = { operation: 'oauth_revoke', audit: 'revocation', decision: 'unknown' };
        expect(await recordOf(idOf(answer))).toMatchObject({ ...unknown, credential: client.credential });
    });
    it('LG-02 what is done by a consent names it', async () => {
        const { access, consent } = await family(gateway, client);
        const denied = await gateway.ask('/api/v1/contacts?website_id=web_1_1', { token: access });
        expect(await recordOf(idOf(denied))).toMatchObject({
            credential: client.credential,
            consent,
            code: 'not_permitted',
        });
    });
});
describe('LG-02 writes', () => {
    it('LG-02 done, done before, refused, and over MCP: with the command’s id', async () => {
        const key = freshKey();
        const wrote = { operation: 'visitor_note_add', credential: own.credential, audit: 'write' };
        const done = await addNote(own.token, `${MARK} one`, key);
        const first = await recordOf(idOf(done));
        expect(first).toMatchObject({
            ...wrote,
            decision: 'allowed',
            operation_id: done.headers['x-gateway-operation-id'],
        });
        expect(first['replayed']).toBeUndefined();
        const replayed = await recordOf(idOf(await addNote(own.token, `${MARK} one`, key)));
        expect(replayed).toMatchObject({
            ...wrote,
            decision: 'allowed',
            operation_id: first['operation_id'],
            replayed: true,
        });
        const conflict = await recordOf(idOf(await addNote(own.token, `${MARK} other`, key)));
        expect(conflict).toMatchObject({ ...wrote, decision: 'refused', code: 'idempotency_conflict' });
        const id = note.url.split('/')[4] ?? '';
        const called = await mcp(gateway.port, own.token, 'tools/call', {
            name: 'visitor_note_add',
            arguments: { visitor_id: id, text: `${MARK} two`, idempotency_key: freshKey() },
        });
        expect(await recordOf(idOf(called))).toMatchObject({
            ...wrote,
            decision: 'allowed',
            operation_id: called.body.result.structuredContent.operation_id,
        });
    });
    it('LG-02 of a task, under the request that sent it', async () => {
        const sent = await a2a(gateway.port, own.token, 'SendMessage', work('offline_language_detection', {
            ...feature.body,
            feature_id: feature.url.split('/')[5],
            context: { type: 'text', text: `Das ist ein ${MARK}` },
        }));
        expect(sent.body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
        expect(await recordOf(idOf(sent))).toMatchObject({
            msg: 'call of a task',
            task: sent.body.result.task.id,
            operation: 'ai_feature_execute',
            credential: own.credential,
            audit: 'write',
            decision: 'allowed',
            operation_id: expect.stringMatching(/^op_[a-f0-9]{64}$/),
        });
    });
    it('LG-02 a task that is canceled, or cannot be', async () => {
        const { token, credential } = await gateway.issue();
        const inspected = () => work('contact_inspection', { contact_id: contact.url.split('/')[4] });
        const allowed = { operation: 'task_cancel', credential, audit: 'write', decision: 'allowed' };
        await gateway.database.sql.begin(async (holding) => {
            await holding `LOCK TABLE platform.contact`;
            const params = { ...inspected(), configuration: { returnImmediately: true } };
            const { id: task } = (await a2a(gateway.port, token, 'SendMessage', params)).body.result.task;
            const ended = await a2a(gateway.port, token, 'CancelTask', { id: task });
            expect(ended.body.result?.status.state, ended.text).toBe('TASK_STATE_CANCELED');
            expect(await recordOf(idOf(ended))).toMatchObject({ ...allowed, task });
        });
        const { id } = (await a2a(gateway.port, token, 'SendMessage', inspected())).body.result.task;
        const canceled = { ...allowed, decision: 'refused' };
        const done = await recordOf(idOf(await a2a(gateway.port, token, 'CancelTask', { id })));
        expect(done).toMatchObject({ ...canceled, code: '-32002', task: id });
        const none = await recordOf(idOf(await a2a(gateway.port, token, 'CancelTask', { id: MARK })));
        expect(none).toMatchObject({ ...canceled, code: '-32001' });
        expect(none['task']).toBeUndefined();
    });
    it('LG-02 whatever the level of the log is, but for none', async () => {
        const lines = [];
        const authority = await gateway.corridor.prove(own.token, 'a2a', undefined);
        const call = { id: 'task_x', requestId: 'req_x', authority, tool: note.tool, outcome: { body: {} } };
        for (const level of ['fatal', 'warn', 'info', 'silent']) {
            const log = pino({ level, base: null }, { write: (line) => void lines.push(line) });
            const tell = teller(log);
            tell({ status: 200 }, { operation: level, does: 'write' }, () => '');
            tell({ status: 200 }, {}, () => '');
            tellRunCall(log)(call);
        }
        const told = lines.map((line) => JSON.parse(line)).map(({ audit, task }) => [audit, task]);
        const [request, run] = [
            ['write', undefined],
            ['write', 'task_x'],
        ];
        expect(told).toEqual([request, run, request, run, request, [undefined, undefined], run]);
    });
    it('LG-02 whose caller has gone before the answer', async () => {
        const { sql } = gateway.database;
        const content = JSON.stringify({ text: `${MARK} gone` });
        const head = [
            `POST ${note.url} HTTP/1.1`,
            'Host: a',
            `Authorization: Bearer ${own.token}`,
            'Content-Type: application/json',
            `Content-Length: ${content.length}`,
            `Idempotency-Key: ${freshKey()}`,
        ];
        // The lock delays the write until the caller has disconnected.
        await sql.begin(async (holding) => {
            await holding `LOCK TABLE platform.note IN SHARE MODE`;
            const socket = createConnection(gateway.port, '127.0.0.1');
            socket.write(`${head.join('\r\n')}\r\n\r\n${content}`);
            await eventually(async () => {
                const [waiting] = await sql `SELECT FROM pg_locks WHERE NOT granted`;
                expect(waiting).toBeDefined();
            });
            socket.destroy();
            await new Promise((resolve) => setTimeout(resolve, 100));
            expect(audits()).toEqual([]);
        });
        await eventually(() => expect(audits()).toHaveLength(1));
        const [told] = audits();
        expect(told).toMatchObject({ unfinished: true, credential: own.credential, audit: 'write', decision: 'allowed' });
        const [kept] = await sql `SELECT FROM gateway.operation
      WHERE operation_id = ${String(told?.['operation_id'])} AND status = 'acknowledged'`;
        expect(kept).toBeDefined();
    });
    it('LG-02 every writing operation has its record', async () => {
        const writes = gateway.corridor.registry.operations.filter(({ effect }) => effect === 'write');
        expect(writes.length).toBeGreaterThan(9);
        const paths = writes.map(({ name, method, path }) => ({
            name,
            method,
            url: path.replace(/\{(\w+?)_id\}/g, (_, what) => SAMPLE[what] ?? expect.fail(what)),
        }));
        for (const { name, method, url } of paths) {
            const answer = await gateway.ask(url, { token: own.token, method, unchecked: true });
            const record = await recordOf(idOf(answer));
            expect(record, name).toMatchObject({
                operation: name,
                credential: own.credential,
                audit: 'write',
                decision: 'refused',
            });
        }
    });
});
const SAMPLE = {
    visitor: 'vis_1_1_999999999',
    conversation: 'cnv_1_1_999999999',
    feature: 'aif_1_1_999999999',
    subscription: `sub_${'0'.repeat(32)}`,
    session: `rts_${'0'.repeat(32)}`,
};
it('LG-01, LG-02 no record of any kind held a content, a token or a key', () => {
    const told = new Set(seen.map((line) => JSON.parse(line)['request_id']));
    expect(told.size).toBeGreaterThan(90);
    const all = seen.join('');
    for (const secret of [MARK, own.token, client.secret, 'key-', '@example.com'])
        expect(all.includes(secret), secret).toBe(false);
});
//# sourceMappingURL=audit.test.js.map