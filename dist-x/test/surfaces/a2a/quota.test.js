import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestGateway } from '../../support/gateway.js';
import { post, rpc, work } from '../../support/surfaces/a2a.js';
import { rpc as mcpRpc } from '../../support/surfaces/mcp.js';
import { message } from '../../support/surfaces/rpc.js';
import { WEB } from '../../support/surfaces/wire.js';
let gateway;
let contact;
beforeAll(async () => {
    gateway = await openTestGateway();
    const { token } = await gateway.issue();
    const { body } = await gateway.ask(`/api/v1/contacts?website_id=${WEB}&limit=1`, { token });
    contact = body.data.data[0].id;
});
afterAll(() => gateway.close());
const remaining = ({ headers }) => Number(/^"app";r=(\d+);t=\d+$/.exec(String(headers['ratelimit']))?.[1]);
const inspect = (message = {}) => work('contact_inspection', { contact_id: contact }, message);
/**
 * Requests that cost one unit and start no task. Each entry has a name, the status of the answer while units are left,
 * and the request.
 */
const PAYING = [
    ['ListTasks', 200, message('ListTasks')],
    ['GetTask of nothing', 200, message('GetTask', { id: 'x' })],
    ['CancelTask of nothing', 200, message('CancelTask', { id: 'x' })],
    ['bad params', 200, message('GetTask')],
    ['bad arguments', 200, message('SendMessage', work('contact_inspection', {}))],
    ['no skill', 200, message('SendMessage', work('x', {}))],
    ['a text part', 200, message('SendMessage', work('x', {}, { parts: [{ text: 'x' }] }))],
    ['an unknown method', 200, message('x')],
    ['a stream', 200, message('SendStreamingMessage')],
    ['a version', 200, message('ListTasks'), { version: '0.3' }],
    ['no JSON', 200, '{'],
    ['a batch', 200, '[]'],
    ['too many bytes', 200, ' '.repeat(65_537)],
    ['Accept', 406, message('ListTasks'), { headers: { accept: 'text/html' } }],
    ['Content-Type', 415, message('ListTasks'), { headers: { 'content-type': 'text/plain' } }],
];
describe('RL quota', () => {
    it('a repeated answer to a question needs only its request, and never finds another task', async () => {
        for (const elsewhere of [false, true]) {
            const { token } = await gateway.issue({ perMinute: 1, burst: 6 });
            const call = (params) => rpc(gateway.port, token, 'SendMessage', params);
            const first = inspect();
            const other = (await call(first)).body.result.task.id;
            const said = { messageId: 'question', role: 'ROLE_USER', parts: [{ text: 'Who is this?' }] };
            const asked = (await call({ message: said })).body.result.task.id;
            const choice = inspect({ taskId: asked });
            expect((await call(choice)).body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
            // One unit is left, so the repeated message cannot pay for another read.
            const again = await call(elsewhere ? inspect({ ...messageOf(first), taskId: asked }) : choice);
            if (elsewhere)
                expect([again.status, again.text.includes(other)]).toEqual([429, false]);
            else
                expect([again.status, again.body.result.task.id]).toEqual([200, asked]);
        }
    });
    it('RL-02 one unit a request and one for a new task’s read, said in RateLimit', async () => {
        const { token } = await gateway.issue({ perMinute: 1, burst: 100 });
        let left = 100;
        const expectPaid = (answer, cost, where) => {
            left -= cost;
            expect(remaining(answer), where).toBe(left);
            expect(answer.headers['ratelimit-policy'], where).toBe('"app";q=1;w=60');
        };
        for (const [what, status, body, options] of PAYING) {
            const answer = await post(gateway.port, token, body, options);
            expect(answer.status, what).toBe(status);
            expectPaid(answer, 1, what);
        }
        const params = inspect();
        const first = await rpc(gateway.port, token, 'SendMessage', params);
        expectPaid(first, 2, 'a new task');
        expectPaid(await rpc(gateway.port, token, 'SendMessage', params), 1, 'the same message again');
        const { id } = first.body.result.task;
        expectPaid(await rpc(gateway.port, token, 'GetTask', { id }), 1, 'GetTask');
        expectPaid(await rpc(gateway.port, token, 'CancelTask', { id }), 1, 'CancelTask of an ended one');
        const conflict = work('contact_inspection', { contact_id: 'ctc_1_1_1' }, messageOf(params));
        expectPaid(await rpc(gateway.port, token, 'SendMessage', conflict), 1, 'a conflict');
        const report = work('support_insights', { website_id: WEB, range: 'today' });
        // Over REST, a report costs five units. A task costs only one unit for the same read.
        expectPaid(await rpc(gateway.port, token, 'SendMessage', report), 2, 'a report');
        const missing = work('contact_inspection', { contact_id: 'ctc_1_1_999999' });
        expectPaid(await rpc(gateway.port, token, 'SendMessage', missing), 2, 'not found');
        // A request that is refused before its token is checked is free. The agent card is also free.
        for (const options of [{ verb: 'GET' }, { path: '/a2a?' }])
            expect((await post(gateway.port, token, message('ListTasks'), options)).headers['ratelimit']).toBeUndefined();
        await gateway.ask('/.well-known/agent-card.json', { token, unchecked: true });
        expectPaid(await rpc(gateway.port, token, 'ListTasks'), 1, 'after them');
    });
    it('RL-01 one budget over REST, MCP and A2A: exactly as many are accepted as there are units', async () => {
        const { token } = await gateway.issue({ perMinute: 1, burst: 30 });
        const ways = [
            () => gateway.ask('/api/v1/websites', { token }),
            () => mcpRpc(gateway.port, token, 'tools/list'),
            () => rpc(gateway.port, token, 'ListTasks'),
            () => rpc(gateway.port, token, 'GetTask', { id: 'x' }),
        ];
        const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => ways[i % ways.length]?.()));
        const accepted = answers.filter((answer) => answer?.status === 200).length;
        expect(accepted).toBe(30);
        expect(answers.filter((answer) => answer?.status === 429).length).toBe(30);
    });
    it('RL-02 used up: HTTP 429 with Retry-After before JSON-RPC, whatever was asked', async () => {
        const { token } = await gateway.issue({ perMinute: 1, burst: 1 });
        expect((await rpc(gateway.port, token, 'ListTasks')).status).toBe(200);
        const sending = ['SendMessage', 200, message('SendMessage', inspect())];
        for (const [what, , body, options] of [...PAYING, sending]) {
            const answer = await post(gateway.port, token, body, options);
            expect(answer.status, what).toBe(429);
            expect(answer.headers['content-type'], what).toBe('application/problem+json');
            expect(answer.body, what).toMatchObject({ code: 'quota_exceeded', status: 429 });
            expect(answer.headers['retry-after'], what).toMatch(/^[1-9][0-9]?$/);
            expect(answer.body.retry_after).toBe(Number(answer.headers['retry-after']));
        }
    });
    it('RL-02 RL-04 the unit of the read alone lacking: 429, no task, the message unused, and waiting is enough', async () => {
        const { token, app, credential } = await gateway.issue({ perMinute: 20, burst: 2 });
        const { sql } = gateway.database;
        expect((await rpc(gateway.port, token, 'ListTasks')).status).toBe(200);
        const params = inspect();
        const refused = await rpc(gateway.port, token, 'SendMessage', params);
        expect([refused.status, refused.body.code, refused.headers['retry-after']]).toEqual([429, 'quota_exceeded', '6']);
        expect(await sql `SELECT FROM gateway.task WHERE credential_id = ${credential}`).toHaveLength(0);
        // The app gets one unit every three seconds, and the repeated request costs two units. Let six seconds pass for the
        // bucket.
        await sql `UPDATE gateway.quota SET at = at - interval '6 seconds' WHERE app_id = ${app}`;
        const accepted = await rpc(gateway.port, token, 'SendMessage', params);
        expect(accepted.body.result?.task.status.state, accepted.text).toBe('TASK_STATE_COMPLETED');
    });
    it('RL a token that is no good does not cost its app', async () => {
        const ended = await gateway.issue({ perMinute: 1, burst: 100 });
        const { token: twin } = await gateway.issue({ app: ended.app });
        expect(remaining(await rpc(gateway.port, ended.token, 'ListTasks'))).toBe(99);
        const sending = ['SendMessage', 200, message('SendMessage', inspect())];
        const requests = [...PAYING, sending];
        // The gateway remembers the authority of these tokens. Some of the requests need no statement, but the gateway must
        // still check the token in the store before it answers.
        const bearers = await Promise.all(requests.map(() => gateway.issue({ app: ended.app })));
        for (const { token } of bearers)
            expect((await mcpRpc(gateway.port, token, 'tools/list')).status).toBe(200);
        for (const { credential } of [ended, ...bearers])
            await gateway.database.sql `UPDATE gateway.credential SET revoked_at = now() WHERE id = ${credential}`;
        for (const [i, [what, , body, options]] of requests.entries()) {
            const answer = await post(gateway.port, bearers[i]?.token, body, options);
            expect([answer.status, answer.body.code, answer.headers['ratelimit']], what).toEqual([
                401,
                'token_revoked',
                undefined,
            ]);
        }
        expect((await rpc(gateway.port, ended.token, 'SendMessage', inspect())).status).toBe(401);
        expect(remaining(await rpc(gateway.port, twin, 'ListTasks'))).toBe(98 - requests.length);
    });
});
const messageOf = (params) => {
    const { messageId } = params.message; // `work` has built these params
    return { messageId };
};
//# sourceMappingURL=quota.test.js.map