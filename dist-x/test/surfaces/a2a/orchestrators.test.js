import { AgentCard, StreamResponse, Task, TaskState } from '@a2a-js/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { BASE_URL, openTestGateway } from '../../support/gateway.js';
import { post } from '../../support/surfaces/a2a.js';
import { ORCHESTRATORS } from '../../support/surfaces/a2a-orchestrators.js';
/**
 * The requests of orchestrators, as their public code builds them: the card, a first sentence, and JSON as text that goes on
 * with the same task. Each answer must be what the parser of that version takes.
 */
let gateway;
let token;
beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());
const CONTACT = 'ctc_1_1_89';
const WORK = JSON.stringify({ skill: 'contact_inspection', arguments: { contact_id: CONTACT } });
// What the models of the Python SDK 0.3 require. A member of another name is allowed, a missing one is not.
const Part03 = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('text'), text: z.string() }),
    z.object({ kind: z.literal('data'), data: z.record(z.string(), z.unknown()) }),
]);
const Message03 = z.object({
    kind: z.literal('message'),
    messageId: z.string().min(1),
    role: z.enum(['agent', 'user']),
    parts: z.array(Part03).min(1),
});
const Status03 = z.object({
    state: z.enum(['submitted', 'working', 'input-required', 'completed', 'failed', 'canceled']),
    timestamp: z.iso.datetime(),
    message: Message03.optional(),
});
const Artifact03 = z.object({ artifactId: z.string().min(1), parts: z.array(Part03).min(1) });
const Task03 = z.object({
    kind: z.literal('task'),
    id: z.string().min(1),
    contextId: z.string().min(1),
    status: Status03,
    artifacts: z.array(Artifact03).optional(),
    history: z.array(Message03).optional(),
});
const ofTask = { taskId: z.string().min(1), contextId: z.string().min(1) };
const Event03 = z.discriminatedUnion('kind', [
    Task03,
    z.object({ kind: z.literal('status-update'), ...ofTask, final: z.boolean(), status: Status03 }),
    z.object({ kind: z.literal('artifact-update'), ...ofTask, artifact: Artifact03 }),
]);
const Card03 = z.object({
    ...{ name: z.string(), description: z.string(), version: z.string() },
    ...{ url: z.url(), preferredTransport: z.literal('JSONRPC'), protocolVersion: z.string().regex(/^0\.3/) },
    ...{ defaultInputModes: z.array(z.string()).min(1), defaultOutputModes: z.array(z.string()).min(1) },
    capabilities: z.object({ streaming: z.literal(true) }),
    skills: z
        .array(z.object({ id: z.string(), name: z.string(), description: z.string(), tags: z.array(z.string()) }))
        .min(1),
    // A requirement whose scheme has the 1.0 form would be unreadable for these clients.
    security: z.undefined().optional(),
});
/** In Python, the parser of 1.0 refuses a member that it does not know. So does this comparison. */
function known(codec, value) {
    expect(codec.toJSON(codec.fromJSON(value))).toEqual(value);
}
const lower = (state) => state
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-');
async function ask({ version, streams, headers }, params) {
    const names = version === '1.0' ? ['SendMessage', 'SendStreamingMessage'] : ['message/send', 'message/stream'];
    const body = { jsonrpc: '2.0', id: 'call-1', method: names[streams ? 1 : 0], params };
    const answer = await post(gateway.port, token, JSON.stringify(body), {
        version: version === '1.0' ? '1.0' : null,
        headers,
    });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.headers['content-type']).toMatch(streams ? /^text\/event-stream/ : /^application\/json/);
    const messages = streams
        ? [...answer.text.matchAll(/^data: ?(.*)$/gm)].map(([, data = '']) => JSON.parse(data))
        : [answer.body];
    for (const message of messages)
        expect(message, answer.text).toMatchObject({ jsonrpc: '2.0', id: 'call-1' });
    const results = messages.map(({ result }) => result);
    return version === '1.0' ? turn10(results, streams) : turn03(results, streams);
}
function turn10(results, streams) {
    for (const result of results) {
        if (streams)
            known(StreamResponse, result);
        else
            known(Task, result['task']);
    }
    const events = results.map((result) => StreamResponse.fromJSON(result).payload);
    const [first] = events;
    if (first?.$case !== 'task')
        expect.unreachable('the first answer is no task');
    const last = events.at(-1);
    const status = last?.$case === 'task' || last?.$case === 'statusUpdate' ? last.value.status : undefined;
    const artifacts = events.flatMap((event) => event?.$case === 'artifactUpdate' ? [event.value.artifact] : event?.$case === 'task' ? event.value.artifacts : []);
    const parts = [...(status?.message?.parts ?? []), ...artifacts.flatMap((artifact) => artifact?.parts ?? [])];
    return {
        id: first.value.id,
        contextId: first.value.contextId,
        state: lower(TaskState[status?.state ?? TaskState.UNRECOGNIZED]),
        parts: parts.map(({ content }) => ({ [content?.$case ?? 'none']: content?.value })),
    };
}
function turn03(results, streams) {
    const events = results.map((result) => Event03.parse(result));
    const [first] = events;
    if (first?.kind !== 'task')
        expect.unreachable('the first answer is no task');
    const last = events.at(-1);
    if (!last || last.kind === 'artifact-update')
        expect.unreachable('the last answer has no status');
    // CrewAI ends its loop at a final update, or at a state that is final or interrupted.
    if (streams && last.kind === 'status-update')
        expect(last.final).toBe(true);
    const artifacts = events.flatMap((event) => event.kind === 'artifact-update' ? [event.artifact] : event.kind === 'task' ? (event.artifacts ?? []) : []);
    const { state, message } = last.status;
    return {
        ...{ id: first.id, contextId: first.contextId, state },
        parts: [...(message?.parts ?? []), ...artifacts.flatMap(({ parts }) => parts)],
    };
}
describe.each(ORCHESTRATORS)('$name', (client) => {
    const read = ({ parts }) => parts
        .flatMap((part) => client.reads.map((kind) => part[kind]))
        .filter((value) => value !== undefined)
        .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
        .join('\n');
    it('finds the card, and can read it', async () => {
        const [path = ''] = client.cards;
        const { status, body } = await gateway.ask(path, { unchecked: true });
        expect(status).toBe(200);
        const { supportedInterfaces } = AgentCard.fromJSON(body);
        if (client.version === '0.3') {
            expect(Card03.parse(body).url).toBe(`${BASE_URL}/a2a`);
        }
        else {
            expect(supportedInterfaces[0]).toMatchObject({ protocolBinding: 'JSONRPC', protocolVersion: '1.0' });
        }
        // The ADK refuses a card that leads to another origin than its own.
        expect([...new Set(supportedInterfaces.map(({ url }) => new URL(url).origin))]).toEqual([BASE_URL]);
    });
    it('a sentence: its model reads what the agent can do; JSON as text goes on with the task', async () => {
        const asked = await ask(client, client.first('What do we know about Oliver Grant?'));
        expect(asked.state).toBe('input-required');
        expect(read(asked)).toContain('contact_inspection');
        const worked = await ask(client, client.continues(WORK, asked));
        expect(worked).toMatchObject({ id: asked.id, contextId: asked.contextId, state: 'completed' });
        expect(read(worked)).toContain(`"${CONTACT}"`);
    });
    it('JSON as the first text is work at once', async () => {
        const worked = await ask(client, client.first(WORK));
        expect(worked.state).toBe('completed');
        expect(read(worked)).toContain(`"${CONTACT}"`);
    });
});
//# sourceMappingURL=orchestrators.test.js.map