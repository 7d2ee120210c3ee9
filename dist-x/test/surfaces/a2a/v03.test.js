import { AgentCard, GetTaskRequest, SendMessageRequest } from '@a2a-js/sdk';
import { LegacyJsonRpcTransport } from '@a2a-js/sdk/compat/v0_3/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestGateway } from '../../support/gateway.js';
import { messageId, post, rpc, work } from '../../support/surfaces/a2a.js';
import { openStream } from '../../support/surfaces/a2a-stream.js';
import { WEB } from '../../support/surfaces/wire.js';
let gateway;
let token;
let contact;
beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await gateway.issue());
    contact = (await gateway.ask(`/api/v1/contacts?website_id=${WEB}`, { token })).body.data.data[0].id;
});
afterAll(() => gateway.close());
/** As a client of 0.3 asks: without a version. */
const call = (method, params, by = token) => rpc(gateway.port, by, method, params, { version: null });
const stream = (method, params, by = token) => openStream(gateway.port, by, method, params, {});
const order = (id = contact) => ({ skill: 'contact_inspection', arguments: { contact_id: id } });
const said = (parts, more = {}, configuration) => ({
    message: { kind: 'message', messageId: messageId(), role: 'user', parts, ...more },
    ...(configuration && { configuration }),
});
const inspect = (more = {}, configuration) => said([{ kind: 'data', data: order() }], more, configuration);
describe('version 0.3', () => {
    it('is spoken where no version is sent, an empty one, or 0.3 with or without a patch number', async () => {
        for (const version of [null, '', '0.3', '0.3.0', '0.3.17']) {
            const answer = await rpc(gateway.port, token, 'message/send', inspect(), { version });
            expect(answer.body.result?.kind, `${version} ${answer.text}`).toBe('task');
        }
        const answer = await post(gateway.port, token, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'x' } }), {
            version: null,
            path: '/a2a?A2A-Version=0.3',
        });
        expect(answer.body.error.code).toBe(-32_001);
        for (const version of ['0.2.5', '0.4', '0.30', '0.3.', '03', '0.3-rc'])
            expect((await rpc(gateway.port, token, 'message/send', inspect(), { version })).body.error.code, version).toBe(-32_009);
    });
    it('has its own shapes: kinds, lower-case states, and the same task in both versions', async () => {
        const { result } = (await call('message/send', inspect({ contextId: 'mine' }))).body;
        expect(Object.keys(result).sort()).toEqual(['artifacts', 'contextId', 'id', 'kind', 'metadata', 'status']);
        expect(result).toMatchObject({
            kind: 'task',
            contextId: 'mine',
            status: { state: 'completed', timestamp: expect.any(String) },
            artifacts: [
                {
                    artifactId: 'result',
                    name: 'contact_inspection',
                    parts: [{ kind: 'data', data: { data: { contact: { id: contact } } } }],
                },
            ],
        });
        expect((await call('tasks/get', { id: result.id, historyLength: 3 })).body.result).toEqual(result);
        const now = (await rpc(gateway.port, token, 'GetTask', { id: result.id })).body.result;
        expect([now.id, now.status.state]).toEqual([result.id, 'TASK_STATE_COMPLETED']);
        expect(now.artifacts[0].parts[0].data).toEqual(result.artifacts[0].parts[0].data);
        const { task } = (await rpc(gateway.port, token, 'SendMessage', work('contact_inspection', { contact_id: contact }))).body.result;
        expect((await call('tasks/get', { id: task.id })).body.result.status.state).toBe('completed');
        const failed = (await call('message/send', said([{ kind: 'data', data: order('ctc_1_1_999999') }]))).body.result;
        expect(failed.status).toMatchObject({
            state: 'failed',
            message: { kind: 'message', role: 'agent', parts: [{ kind: 'data', data: { code: 'not_found' } }] },
        });
    });
    it('takes texts: JSON, metadata, and a task that asks for a skill', async () => {
        const json = said([{ kind: 'text', text: JSON.stringify(order()) }]);
        expect((await call('message/send', json)).body.result.status.state).toBe('completed');
        const meta = said([{ kind: 'text', text: 'Who?' }], { metadata: order() });
        expect((await call('message/send', meta)).body.result.status.state).toBe('completed');
        const asked = (await call('message/send', said([{ kind: 'text', text: 'Who?' }]))).body.result;
        expect(asked.status.state).toBe('input-required');
        expect(asked.status.message.parts.map((one) => one.kind)).toEqual(['text', 'data']);
        expect(asked.status.message.parts[1].data.skills.length).toBeGreaterThan(4);
        expect(asked.history).toEqual([
            expect.objectContaining({ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Who?' }] }),
        ]);
        const done = (await call('message/send', inspect({ taskId: asked.id, contextId: asked.contextId }))).body.result;
        expect([done.id, done.status.state]).toEqual([asked.id, 'completed']);
        const text = inspect({}, { acceptedOutputModes: ['text', 'text/plain'] });
        const [part] = (await call('message/send', text)).body.result.artifacts[0].parts;
        expect([part.kind, JSON.parse(part.text).data.contact.id]).toEqual(['text', contact]);
    });
    it('waits unless blocking is false', async () => {
        for (const configuration of [undefined, {}, { blocking: true }, { blocking: null, acceptedOutputModes: [] }])
            expect((await call('message/send', inspect({}, configuration))).body.result.status.state).toBe('completed');
        const now = (await call('message/send', inspect({}, { blocking: false }))).body.result;
        expect(now.status.state).toBe('submitted');
        const twice = await call('tasks/cancel', { id: now.id });
        const state = twice.body.result?.status.state ?? `${twice.body.error.code}`;
        expect(['canceled', '-32002']).toContain(state);
    });
    it('streams: the task, its artifact and its end, and resubscribes', async () => {
        const open = await stream('message/stream', inspect());
        expect(await open.ended).toBe(true);
        expect(open.headers['content-type']).toBe('text/event-stream');
        const kinds = open.events.map(({ result }) => result.kind);
        expect([kinds[0], ...kinds.slice(-2)]).toEqual(['task', 'artifact-update', 'status-update']);
        expect(open.events.at(-1).result).toMatchObject({ final: true, status: { state: 'completed' } });
        const asked = await stream('message/stream', said([{ kind: 'text', text: 'x' }]));
        await asked.ended;
        expect(asked.events.map(({ result }) => result.status.state)).toEqual(['input-required']);
        const again = await stream('tasks/resubscribe', { id: asked.events[0].result.id });
        await again.ended;
        expect(again.events[0].result).toEqual(asked.events[0].result);
    });
    it('gives the errors of a stream as its only event, and others as JSON', async () => {
        const { id } = (await call('message/send', inspect())).body.result;
        const cases = [
            ['tasks/resubscribe', { id }, -32_004],
            ['tasks/resubscribe', { id: 'x' }, -32_001],
            ['tasks/resubscribe', {}, -32_602],
            ['message/stream', {}, -32_602],
            ['message/stream', said([{ kind: 'data', data: { skill: 'x', arguments: {} } }]), -32_602],
            ['message/stream', said([{ kind: 'file', file: { bytes: 'AAAA' } }]), -32_005],
            ['message/stream', said([{ kind: 'text', text: 'hi', data: { skill: 'x', arguments: {} } }]), -32_005],
        ];
        for (const [method, params, code] of cases) {
            const open = await stream(method, params);
            expect(await open.ended).toBe(true);
            expect([open.status, open.headers['content-type']], method).toEqual([200, 'text/event-stream']);
            expect(open.events).toEqual([{ jsonrpc: '2.0', id: 7, error: expect.objectContaining({ code }) }]);
        }
        expect((await stream('message/stream', inspect(), 'igw_test_x')).status).toBe(401);
        const json = await call('tasks/get', { id: 'x' });
        expect([json.headers['content-type'], json.body.error.code]).toEqual(['application/json', -32_001]);
    });
    it('knows no name of 1.0, and 1.0 knows none of its names: two eras in one request', async () => {
        const OLD = [
            'message/send',
            'message/stream',
            'tasks/get',
            'tasks/cancel',
            'tasks/resubscribe',
            'tasks/pushNotificationConfig/set',
        ];
        for (const method of OLD)
            for (const params of [inspect(), work('contact_inspection', { contact_id: contact })])
                expect((await rpc(gateway.port, token, method, params)).body.error.code, method).toBe(-32_601);
        const NEW = [
            'SendMessage',
            'SendStreamingMessage',
            'GetTask',
            'ListTasks',
            'CancelTask',
            'SubscribeToTask',
            'GetExtendedAgentCard',
        ];
        for (const method of NEW)
            for (const version of [null, '0.3'])
                expect((await rpc(gateway.port, token, method, inspect(), { version })).body.error.code, method).toBe(-32_009);
        for (const method of [
            'x',
            'constructor',
            'toString',
            '__proto__',
            'message/sendSubscribe',
            'tasks/send',
            'tasks/list',
        ])
            expect((await call(method, inspect())).body.error.code, method).toBe(-32_601);
        expect((await call('message/send', work('contact_inspection', { contact_id: contact }))).body.error.code).toBe(-32_602);
        expect((await rpc(gateway.port, token, 'SendMessage', inspect())).body.error.code).toBe(-32_602);
        const PUSH = ['set', 'get', 'list', 'delete'].map((verb) => `tasks/pushNotificationConfig/${verb}`);
        for (const method of PUSH)
            expect((await call(method, {
                id: 'x',
                taskId: 'x',
                pushNotificationConfig: { url: 'https://example.com' },
                pushNotificationConfigId: 'x',
            })).body.error.code, method).toBe(-32_003);
        expect((await call('agent/getAuthenticatedExtendedCard', {})).body.error.code).toBe(-32_004);
    });
    it('refuses wrong params by name, never with -32603 or HTTP 500', async () => {
        const part = (one) => said([one]);
        const cases = [
            ['message', {}],
            ['message.role', inspect({ role: 'ROLE_USER' })],
            ['message.role', inspect({ role: 'agent' })],
            ['message.kind', inspect({ kind: 'task' })],
            ['message.messageId', inspect({ messageId: 5 })],
            ['message.parts', said([])],
            ['message.parts.0.kind', part({ text: 'x' })],
            ['message.parts.0.kind', part({ kind: 'x' })],
            ['message.parts.0.text', part({ kind: 'text' })],
            ['message.parts.0.text', part({ kind: 'text', text: 5 })],
            ['message.parts.0.data', part({ kind: 'data' })],
            ['message.parts.0.data', part({ kind: 'data', data: [1] })],
            ['message.parts.0.data.skill', part({ kind: 'data', data: {} })],
            [
                'message.parts.0.data.arguments.contact_id',
                part({ kind: 'data', data: { skill: 'contact_inspection', arguments: {} } }),
            ],
            ['message.metadata', inspect({ metadata: 5 })],
            ['message.extensions', inspect({ extensions: 'x' })],
            ['configuration.blocking', inspect({}, { blocking: 'yes' })],
            ['configuration.historyLength', inspect({}, { historyLength: -1 })],
        ];
        for (const [field, params] of cases) {
            const { status, body, text } = await call('message/send', params);
            expect([status, body.error?.code], `${field} ${text}`).toEqual([200, -32_602]);
            expect(body.error.message).toContain(field);
        }
        const push = await call('message/send', inspect({}, { pushNotificationConfig: { url: 'https://example.com' } }));
        expect(push.body.error.code).toBe(-32_003);
        const nulls = inspect({ contextId: null, taskId: null, metadata: null, extensions: null, referenceTaskIds: null }, { historyLength: null });
        expect((await call('message/send', nulls)).body.result.status.state).toBe('completed');
    });
    it('the transport of the SDK for 0.3 works unmodified', async () => {
        const card = (await gateway.ask('/.well-known/agent-card.json', { unchecked: true })).body;
        expect(card).toMatchObject({ preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' });
        expect(card.url).toMatch(/\/a2a$/);
        expect(card.supportedInterfaces.map((one) => one.protocolVersion)).toEqual([
            '1.0',
            '0.3',
        ]);
        expect(AgentCard.fromJSON(card).name).toBe('Installation Gateway');
        const client = new LegacyJsonRpcTransport({
            endpoint: `http://127.0.0.1:${gateway.port}/a2a`,
            fetchImpl: (url, init) => {
                const headers = new Headers(init?.headers);
                headers.set('authorization', `Bearer ${token}`);
                return fetch(url, { ...init, headers });
            },
        });
        const sent = await client.sendMessage(SendMessageRequest.fromJSON(work('contact_inspection', { contact_id: contact })));
        if (!('id' in sent))
            return expect.fail('no task was answered');
        expect(sent.artifacts.length).toBe(1);
        expect((await client.getTask(GetTaskRequest.fromJSON({ id: sent.id }))).id).toBe(sent.id);
        const kinds = [];
        for await (const { payload } of client.sendMessageStream(SendMessageRequest.fromJSON(work('contact_inspection', { contact_id: contact }))))
            kinds.push(payload?.$case);
        expect([kinds[0], kinds.at(-2), kinds.at(-1)]).toEqual(['task', 'artifactUpdate', 'statusUpdate']);
    });
});
//# sourceMappingURL=v03.test.js.map