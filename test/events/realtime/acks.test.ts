import type postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  Client,
  connected,
  type Frame,
  holder,
  newTicket,
  openSession,
  plantWebsites,
} from '../../support/events/realtime.ts';
import { append, create, definition, pull } from '../../support/events/subscriptions.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';

let gateway: TestGateway;
let token: string;

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await plantWebsites(gateway.database.sql, 10);
  ({ token } = await holder(gateway, { perMinute: 60_000, burst: 10_000 }));
});
afterAll(() => gateway.close());

const sql = (): postgres.Sql => gateway.database.sql;
const many = (n: number): string[] => Array.from({ length: n }, () => 'visitor.changed');
const told = ({ events }: Frame): number[] => events.map(({ cursor }: { cursor: number }) => cursor);

it('a backlog of 300 pages is drained as fast as they are acknowledged', async () => {
  const { id } = await create(gateway, token, definition(['web_1_1']));
  for (let i = 0; i < 10; i++) await append(sql(), 'web_1_1', many(3_000));
  const client = await connected(gateway, token);
  await client.attach(id);
  const seen: number[] = [];
  while (seen.length < 30_000) {
    const page = await client.next('page');
    seen.push(...told(page));
    client.ack(page);
  }
  expect(seen).toEqual(Array.from({ length: 30_000 }, (_, i) => i + 1));
  expect(client.socket.readyState).toBe(client.socket.OPEN);
  client.end();
});

it.each(['the open page twice over', 'a page of before'])('a flood of acks of %s is cut off', async (which) => {
  const website = which === 'a page of before' ? 'web_1_2' : 'web_1_3';
  const { id } = await create(gateway, token, definition([website]));
  await append(sql(), website, many(150));
  const client = await connected(gateway, token);
  await client.attach(id);
  const page = await client.next('page');
  client.ack(page);
  if (which === 'a page of before') await client.next('page');
  for (let i = 0; i < 500; i++) client.ack(page);
  expect(await client.closed).toBe(1008);
  expect(client.frames.at(-1)).toMatchObject({ type: 'closing', reason: 'too many frames' });
});

it('WS-05 the cursor that an attach named is acknowledged already: once more does no harm', async () => {
  const { id, cursor } = await create(gateway, token, definition(['web_1_4']));
  await append(sql(), 'web_1_4', many(3));
  const client = await connected(gateway, token);
  await client.attach(id, cursor);
  const page = await client.next('page');
  client.send({ type: 'ack', subscription_id: id, cursor });
  expect(await client.next('acked')).toMatchObject({ cursor });
  client.ack(page);
  expect(await client.next('acked')).toMatchObject({ cursor: page.next_cursor });
  client.end();
});

it('attach, detach, attach: the second one counts, whichever is read first, and also where the first one fails', async () => {
  const { id, cursor } = await create(gateway, token, definition(['web_1_5']));
  await append(sql(), 'web_1_5', many(20));
  const later = (await pull(gateway, token, id, cursor, 10)).body.next_cursor;
  for (let round = 0; round < 10; round++)
    for (const [first, second, from] of [
      [cursor, later, 11],
      [later, cursor, 1],
      ['x.y', later, 11],
      [undefined, later, 11],
      [later, undefined, 1],
    ] as const) {
      const client = await connected(gateway, token);
      client.send({ type: 'attach', id: 1, subscription_id: id, ...(first !== undefined && { after: first }) });
      client.send({ type: 'detach', subscription_id: id });
      client.send({ type: 'attach', id: 2, subscription_id: id, ...(second !== undefined && { after: second }) });
      expect(await client.next('attached')).toMatchObject({ id: 2, after: second ?? cursor });
      expect(told(await client.next('page'))[0]).toBe(from);
      expect(client.frames.filter(({ type }) => type === 'attached')).toHaveLength(1);
      client.end();
    }
});

it('WS-07 a stream that starts now goes on where the session has begun it, with and without pages that nobody acknowledged', async () => {
  await append(sql(), 'web_1_6', many(5));
  const { id, cursor } = await create(gateway, token, definition(['web_1_6'], { start: 'now' }));
  const { session_id, ticket } = await openSession(gateway, token);
  const socket = async (ticket: string): Promise<Client> => {
    const client = new Client(gateway.port, { session_id, ticket });
    await client.next('ready');
    return client;
  };
  const again = async (): Promise<Client> => socket(await newTicket(gateway, token, session_id));
  const first = await socket(ticket);
  expect(await first.attach(id)).toMatchObject({ after: cursor });
  first.end();
  await append(sql(), 'web_1_6', many(2));
  // The page gets lost with its socket, so it comes again.
  for (let n = 0; n < 2; n++) {
    const client = await again();
    await client.attach(id);
    expect(told(await client.next('page'))).toEqual([6, 7]);
    client.end();
  }
  const acking = await again();
  await acking.attach(id);
  acking.ack(await acking.next('page'));
  await acking.next('acked');
  acking.end();
  await append(sql(), 'web_1_6', many(1));
  const last = await again();
  await last.attach(id);
  expect(told(await last.next('page'))).toEqual([8]);
  last.end();
  // Another session has its own begin. A cursor that its first attach names is one, too.
  await append(sql(), 'web_1_6', many(1));
  const other = await openSession(gateway, token);
  const named = new Client(gateway.port, other);
  await named.next('ready');
  await named.attach(id, cursor);
  named.end();
  const fresh = new Client(gateway.port, { ...other, ticket: await newTicket(gateway, token, other.session_id) });
  await fresh.next('ready');
  await fresh.attach(id);
  expect(told(await fresh.next('page'))).toEqual([6, 7, 8, 9]);
  fresh.end();
  // A new revision has its own begin, and an older acknowledgement does not count.
  const replaced = await gateway.ask(`/api/v1/subscriptions/${id}`, {
    ...{ token, method: 'PATCH', body: definition(['web_1_6'], { start: 'now' }), headers: { 'if-match': '1' } },
  });
  expect(replaced.status, replaced.text).toBe(200);
  for (const came of [undefined, [10, 11]]) {
    const client = await again();
    expect(await client.attach(id)).toMatchObject({ revision: 2, after: replaced.body.cursor });
    if (came) expect(told(await client.next('page'))).toEqual(came);
    client.end();
    if (!came) await append(sql(), 'web_1_6', many(2));
  }
});
