import { SendMessageRequest, TaskState } from '@a2a-js/sdk';
import { ClientFactory, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { A2AClient } from '@a2a-js/sdk-0.3/client';
import { expect, it } from 'vitest';
import { servedGateway } from './gateway.ts';

/** The A2A clients of both versions of the protocol, unmodified, from the card to the last event of a stream. */
const gateway = servedGateway();

const ORDER = { skill: 'contact_inspection', arguments: { contact_id: 'ctc_1_1_1' } };
let messages = 0;
const messageId = (): string => `integration-${++messages}`;

const authorized: typeof fetch = (url, init) => {
  const headers = new Headers(init?.headers);
  headers.set('authorization', gateway.headers.Authorization);
  return fetch(url, { ...init, headers });
};

/** The order in which things happened, each once. */
const once = (steps: readonly string[]): string[] => steps.filter((one, i) => steps.indexOf(one) === i);

it('@a2a-js/sdk 1.x: a sentence, the choice of a skill, and a stream', async () => {
  const transports = [new JsonRpcTransportFactory({ fetchImpl: authorized })];
  const client = await new ClientFactory({ transports }).createFromUrl(gateway.url);
  const send = (parts: object[], taskId = '') =>
    SendMessageRequest.fromJSON({ message: { messageId: messageId(), role: 'ROLE_USER', parts, taskId } });

  const asked = await client.sendMessage(send([{ text: 'Who is this?' }]));
  if (!('status' in asked)) return expect.fail('the answer is no task');
  expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
  const steps: string[] = [];
  for await (const { payload } of client.sendMessageStream(send([{ text: JSON.stringify(ORDER) }], asked.id)))
    steps.push(payload?.$case ?? 'none');
  expect([steps[0], ...steps.slice(-2)]).toEqual(['task', 'artifactUpdate', 'statusUpdate']);
  const done = await client.getTask({ tenant: '', id: asked.id });
  expect([done.status?.state, done.artifacts.length]).toEqual([TaskState.TASK_STATE_COMPLETED, 1]);
});

it('@a2a-js/sdk 0.3.x: a sentence, the choice of a skill, and a stream', async () => {
  const client = await A2AClient.fromCardUrl(`${gateway.url}/.well-known/agent-card.json`, { fetchImpl: authorized });
  const said = (text: string, taskId?: string) => ({
    kind: 'message' as const,
    messageId: messageId(),
    role: 'user' as const,
    parts: [{ kind: 'text' as const, text }],
    ...(taskId !== undefined && { taskId }),
  });

  const asked = await client.sendMessage({ message: said('Who is this?') });
  if (!('result' in asked) || asked.result.kind !== 'task') return expect.fail(JSON.stringify(asked));
  expect(asked.result.status.state).toBe('input-required');
  const steps: string[] = [];
  for await (const event of client.sendMessageStream({ message: said(JSON.stringify(ORDER), asked.result.id) }))
    steps.push(event.kind);
  expect(once(steps)).toEqual(expect.arrayContaining(['task', 'artifact-update', 'status-update']));
  const done = await client.getTask({ id: asked.result.id });
  if (!('result' in done)) return expect.fail(JSON.stringify(done));
  expect([done.result.status.state, done.result.artifacts?.length]).toEqual(['completed', 1]);
  await expect(async () => {
    for await (const event of client.resubscribeTask({ id: 'task_0123456789abcdef0123456789abcdef' }))
      steps.push(event.kind);
  }).rejects.toThrow('32001');
});
