import { createServer } from 'node:http';
import {
  createMCPClient,
  experimental_createMCPEventWebhook as createWebhook,
  type Experimental_MCPEventStore as EventStore,
  type Experimental_MCPEventSubscription as Subscription,
} from '@ai-sdk/mcp-events';
import { afterAll, expect, it } from 'vitest';
import { issue } from '../support/credentials.ts';
import { append } from '../support/events/subscriptions.ts';
import { until } from '../support/events/webhooks.ts';
import { serve } from '../support/hostile/served.ts';

/** The store of the application. The SDK keeps here what it has subscribed to. */
function openStore(): EventStore & { readonly kept: Map<string, Subscription> } {
  const kept = new Map<string, Subscription>();
  return {
    kept,
    get: async (key) => kept.get(key),
    getById: async (id) => [...kept.values()].find((one) => one.id === id),
    set: async (one) => void kept.set(one.key, one),
    update: async (key, patch) => {
      const one = kept.get(key);
      if (one) kept.set(key, { ...one, ...patch });
    },
    delete: async (key) => void kept.delete(key),
  };
}

const ends: (() => Promise<unknown>)[] = [];
afterAll(() => Promise.all(ends.map((end) => end())));

it('Vercel AI SDK, client and receiver: list, subscribe, challenge, delivery, refresh, end', async () => {
  const store = openStore();
  const got: string[] = [];
  const receive = createWebhook({
    store,
    onEvent: async ({ event }) => void got.push(`${event.eventId} ${event.data['event_type']}`),
    onGap: async () => void got.push('gap'),
    onTerminated: async ({ termination }) => void got.push(`terminated ${termination.error.code}`),
  });
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const url = `http://${request.headers.host}${request.url}`;
    const answer = await receive(new Request(url, { method: 'POST', headers, body: Buffer.concat(parts) }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => new Promise((resolve) => server.close(resolve)));
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;

  const gateway = await serve({ GATEWAY_MCP_EVENTS: 'sketch', GATEWAY_WEBHOOK_ALLOW: origin });
  ends.push(() => gateway.close());
  const { sql } = gateway.database;
  const { token, credential } = await issue(sql, 1);
  const headers = { Authorization: `Bearer ${token}` };
  const client = await createMCPClient({
    transport: { type: 'http', url: `${gateway.url}/mcp`, headers },
    experimental_events: { store },
  });
  ends.push(() => client.close());
  const events = client.experimental_events;
  const { events: listed } = await events.list();
  expect(listed.map(({ name, delivery }) => [name, delivery])).toContainEqual(['visitor', ['webhook', 'poll']]);

  const delivery = { mode: 'webhook', url: `${origin}/hooks`, allowInsecureLocalhost: true } as const;
  const made = await events.subscribe({
    name: 'visitor',
    arguments: { website_id: 'web_1_1', types: ['changed', 'gap'] },
    delivery,
    ttlMs: 600_000,
  });
  await append(sql, 'web_1_1', ['visitor.changed', 'visitor.removed', 'conversation.changed', 'visitor.changed']);
  await until(() => got.length === 2);
  await append(sql, 'web_1_1', ['visitor.gap']);
  await until(() => got.length === 3);
  expect(got.map((line) => line.replace(/^evt_[a-f0-9]{64}/, 'evt'))).toEqual([
    'evt visitor.changed',
    'evt visitor.changed',
    'gap',
  ]);
  const refreshed = await events.refresh({ id: made.id });
  expect([refreshed.id, refreshed.truncated]).toEqual([made.id, false]);
  expect([...store.kept.values()].map(({ status, cursor }) => [status, cursor])).toEqual([
    ['active', refreshed.cursor],
  ]);

  await events.unsubscribe({ id: made.id });
  expect(store.kept.size).toBe(0);
  await append(sql, 'web_1_1', ['visitor.changed']);
  await events.subscribe({ name: 'visitor', delivery });
  await sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${credential}`;
  await until(() => got.length === 4);
  expect([got.at(-1), store.kept.size]).toEqual(['terminated -32012', 0]);
});
