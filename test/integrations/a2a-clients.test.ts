import { randomUUID } from 'node:crypto';
import { type Message, Role, type SendMessageRequest, type StreamResponse, TaskState } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import {
  ClientFactory as ClientFactory03,
  ClientFactoryOptions as ClientFactoryOptions03,
  JsonRpcTransportFactory as JsonRpcTransportFactory03,
} from '@a2a-js/sdk-0.3/client';
import { expect, it } from 'vitest';
import { servedGateway } from './gateway.ts';

/**
 * The clients of the A2A SDK, 1.x and 0.3.x, as their packages are: they find the card, send a sentence, read which skills
 * there are, go on with the same task, follow a stream, and read the task again.
 */
const gateway = servedGateway();
const WORK = JSON.stringify({ skill: 'contact_inspection', arguments: { contact_id: 'ctc_1_1_89' } });
const SENTENCE = 'What do we know about Oliver Grant?';

const authorized: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('Authorization', gateway.headers.Authorization);
  return fetch(input, { ...init, headers });
};

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const events: T[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const text = (value: string, message: Partial<Message> = {}): SendMessageRequest => ({
  tenant: '',
  message: {
    messageId: randomUUID(),
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    parts: [{ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...message,
  },
  configuration: undefined,
  metadata: undefined,
});

const client10 = (): Promise<Client> =>
  new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl: authorized })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl: authorized }),
    }),
  ).createFromUrl(gateway.url);

it('@a2a-js/sdk 1.x: a sentence, the skills, the work under the same task, and the task again', async () => {
  const client = await client10();
  const asked = await client.sendMessage(text(SENTENCE));
  if (!('status' in asked)) expect.unreachable('the answer is no task');
  expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
  const contents = asked.status?.message?.parts.map((part) => part.content) ?? [];
  expect(contents.map((content) => content?.$case)).toEqual(['text', 'data']);
  const [, skills] = contents;
  expect(JSON.stringify(skills?.value)).toContain('"contact_inspection"');

  const worked = await client.sendMessage(text(WORK, { taskId: asked.id, contextId: asked.contextId }));
  if (!('status' in worked)) expect.unreachable('the answer is no task');
  expect([worked.id, worked.status?.state]).toEqual([asked.id, TaskState.TASK_STATE_COMPLETED]);
  const again = await client.getTask({ tenant: '', id: asked.id });
  expect(again.artifacts).toEqual(worked.artifacts);
  expect(JSON.stringify(again.artifacts)).toContain('ctc_1_1_89');
});

it('@a2a-js/sdk 1.x: a stream begins with the task and ends with its final state', async () => {
  const client = await client10();
  const kinds = (events: readonly StreamResponse[]) => events.map((event) => event.payload?.$case);
  const events = await all(client.sendMessageStream(text(WORK)));
  expect(kinds(events)[0]).toBe('task');
  expect(kinds(events)).toContain('artifactUpdate');
  const last = events.at(-1)?.payload;
  expect(last?.$case === 'statusUpdate' && last.value.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);

  const asked = await all(client.sendMessageStream(text(SENTENCE)));
  expect(JSON.stringify(asked.at(-1))).toContain('"contact_inspection"');
});

/** The client of 0.3 sends no A2A-Version. It reads `url` and `preferredTransport` of the card. */
const client03 = () =>
  new ClientFactory03(
    ClientFactoryOptions03.createFrom(ClientFactoryOptions03.default, {
      transports: [new JsonRpcTransportFactory03({ fetchImpl: authorized })],
    }),
  ).createFromUrl(gateway.url);

const text03 = (value: string, message: { taskId?: string; contextId?: string } = {}) => ({
  message: {
    kind: 'message' as const,
    messageId: randomUUID(),
    role: 'user' as const,
    parts: [{ kind: 'text' as const, text: value }],
    ...message,
  },
});

it('@a2a-js/sdk 0.3.x: a sentence, the skills, the work under the same task, and the task again', async () => {
  const client = await client03();
  const asked = await client.sendMessage(text03(SENTENCE));
  if (asked.kind !== 'task') expect.unreachable('the answer is no task');
  expect(asked.status.state).toBe('input-required');
  expect(asked.status.message?.parts.map(({ kind }) => kind)).toEqual(['text', 'data']);
  expect(JSON.stringify(asked.status.message)).toContain('"contact_inspection"');

  const worked = await client.sendMessage(text03(WORK, { taskId: asked.id, contextId: asked.contextId }));
  expect(worked).toMatchObject({ kind: 'task', id: asked.id, status: { state: 'completed' } });
  const again = await client.getTask({ id: asked.id });
  expect(again).toMatchObject({ kind: 'task', id: asked.id, artifacts: [{ parts: [{ kind: 'data' }] }] });
  expect(JSON.stringify(again.artifacts)).toContain('ctc_1_1_89');
  // Both versions read the same task.
  expect((await (await client10()).getTask({ tenant: '', id: asked.id })).id).toBe(asked.id);
});

it('@a2a-js/sdk 0.3.x: a stream begins with the task and ends with its final state', async () => {
  const client = await client03();
  const events = await all(client.sendMessageStream(text03(WORK)));
  expect(events[0]?.kind).toBe('task');
  expect(events.map(({ kind }) => kind)).toContain('artifact-update');
  expect(events.at(-1)).toMatchObject({ kind: 'status-update', final: true, status: { state: 'completed' } });

  const asked = await all(client.sendMessageStream(text03(SENTENCE)));
  expect(JSON.stringify(asked.at(-1))).toContain('"contact_inspection"');
});
