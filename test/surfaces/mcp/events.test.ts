import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditOf } from '../../support/audit.ts';
import { ALL_FAMILIES, append, create, definition, pull } from '../../support/events/subscriptions.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { modern, rpc } from '../../support/surfaces/mcp.ts';

/** Events over MCP: `events/list` and `events/poll`. */
let gateway: TestGateway;
let token: string;

beforeAll(async () => {
  gateway = await openTestGateway('demo', undefined, undefined, {}, undefined, undefined, true);
  ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());

type Params = Readonly<Record<string, unknown>>;
const ask = (method: string, params: Params = {}, bearer = token) => modern(gateway.port, bearer, method, params);
const poll = async (params: Params, bearer = token) => {
  const { body, text } = await ask('events/poll', params, bearer);
  expect(body.error, text).toBeUndefined();
  return body.result;
};
const code = async (method: string, params: Params, bearer = token) =>
  (await ask(method, params, bearer)).body.error?.code;

const KINDS = ['changed', 'removed', 'snapshot', 'gap', 'heartbeat'];

describe('events/list', () => {
  it('names seven events with their five types, and the receipt without content', async () => {
    const { body } = await ask('events/list');
    const { events, ttlMs, cacheScope } = body.result;
    expect([ttlMs, cacheScope]).toEqual([30_000, 'private']);
    expect(events.map(({ name }: { name: string }) => name)).toEqual(ALL_FAMILIES);
    for (const { delivery, inputSchema, payloadSchema, description } of events) {
      expect(delivery).toEqual(['webhook', 'poll']);
      expect(description).toMatch(/\.$/);
      expect(Object.keys(inputSchema.properties)).toEqual(['website_id', 'types']);
      expect(inputSchema.properties.types.items.enum).toEqual(KINDS);
      expect(inputSchema.required ?? []).toEqual([]);
      expect(Object.keys(payloadSchema.properties).sort()).toEqual(
        ['cursor', 'event_id', 'event_type', 'occurred_at', 'recorded_at', 'website_id'].sort(),
      );
    }
    const older = await rpc(gateway.port, token, 'events/list');
    expect(older.body.result).toEqual({ events });
  });

  it('is empty for a credential that may not pull, and narrows with the address', async () => {
    for (const grant of [
      { scopes: ['website_read'] },
      { scopes: ['event_read'] },
      { channels: ['chn_1_1_1'] },
    ] as const) {
      const other = await gateway.issue(grant);
      expect((await ask('events/list', {}, other.token)).body.result.events).toEqual([]);
      expect(await code('events/poll', { name: 'visitor' }, other.token)).toBe(-32024);
    }
  });

  it('refuses without a token as every method', async () => {
    for (const method of ['events/list', 'events/poll']) {
      const { status, headers } = await modern(gateway.port, 'igw_live_wrong', method, { name: 'visitor' });
      expect([status, headers['ratelimit']]).toEqual([401, undefined]);
    }
    const { body } = await ask('events/stream', { name: 'visitor' });
    expect(body.error.code).toBe(-32601);
  });
});

describe('the audit', () => {
  it('has a record of each poll, of each subscription and of each refusal', async () => {
    const own = await gateway.issue();
    const weak = await gateway.issue({ scopes: ['website_read'] });
    await poll({ name: 'visitor', arguments: { website_id: 'web_1_1' } }, own.token);
    await code('events/poll', { name: 'none' }, own.token);
    await code('events/poll', { name: 'visitor' }, weak.token);
    await code('events/unsubscribe', { name: 'visitor', delivery: { url: 'https://receiver.test/' } }, own.token);
    const delivery = { mode: 'poll', url: 'https://receiver.test/', secret: 'whsec_zqx' };
    await code('events/subscribe', { name: 'visitor', delivery }, own.token);
    const found = async (by: string): Promise<unknown[]> =>
      (await auditOf(gateway.database, { credential_id: by })).map((one) =>
        [one['surface'], one['operation'], one['outcome'], one['website_id'], one['count'], one['units']].join(' '),
      );
    await expect
      .poll(() => found(own.credential))
      .toEqual([
        'mcp events_pull ok web_1_1 0 1',
        'mcp events_pull invalid_request   1',
        expect.stringMatching(/^mcp subscription_delete /),
        'mcp subscription_create invalid_request   1',
      ]);
    expect(await found(weak.credential)).toEqual(['mcp events_pull not_permitted   1']);
  });
});

describe('events/poll', () => {
  const arguments_ = { website_id: 'web_1_1' };

  it('starts now, and gives each receipt once under the id that a pull gives', async () => {
    const first = await poll({ name: 'visitor', arguments: arguments_ });
    expect(first).toMatchObject({ resultType: 'complete', events: [], truncated: false, hasMore: false });
    const { database } = gateway;
    await append(database.sql, 'web_1_1', ['visitor.changed', 'conversation.changed', 'visitor.removed']);
    await append(database.sql, 'web_1_2', ['visitor.changed']);
    const nothing = { website_id: null, types: null };
    expect((await poll({ name: 'visitor', arguments: nothing })).truncated).toBe(false);
    const second = await poll({ name: 'visitor', arguments: { ...arguments_, types: null }, cursor: first.cursor });
    expect(second.events.map(({ data }: { data: { event_type: string } }) => data.event_type)).toEqual([
      'visitor.changed',
      'visitor.removed',
    ]);
    const made = await create(gateway, token, definition(['web_1_1'], { event_types: ['visitor.*'] }));
    const pulled: unknown[] = [];
    for (let [after, more] = [made.cursor, true]; more; ) {
      const { body } = await pull(gateway, token, made.id, after, 100);
      pulled.push(...body.events);
      [after, more] = [body.next_cursor, body.has_more];
    }
    for (const { eventId, name, timestamp, data } of second.events) {
      expect([eventId, name]).toEqual([data.event_id, 'visitor']);
      expect(timestamp).toBe(new Date(data.occurred_at).toISOString());
      expect(pulled).toContainEqual(data);
    }
    const third = await poll({ name: 'visitor', arguments: arguments_, cursor: second.cursor });
    expect([third.events, third.hasMore]).toEqual([[], false]);
  });

  it('narrows by type, pages by maxEvents, and drops what is too old', async () => {
    const { cursor } = await poll({ name: 'queue', arguments: { types: ['removed'] } });
    await append(gateway.database.sql, 'web_1_1', ['queue.removed', 'queue.changed', 'queue.removed']);
    const asked = { name: 'queue', arguments: { types: ['removed'] }, cursor };
    const one = await poll({ ...asked, maxEvents: 1 });
    expect([one.events.length, one.hasMore]).toEqual([1, true]);
    const two = await poll({ ...asked, cursor: one.cursor });
    expect([two.events.length, two.hasMore]).toEqual([1, false]);
    expect(two.events[0].eventId).not.toBe(one.events[0].eventId);
    const none = await poll({ ...asked, maxAgeMs: 0 });
    expect([none.events, none.truncated]).toEqual([[], true]);
    // What counts is when the journal got it, as for a subscription.
    await gateway.database
      .sql`UPDATE gateway.journal SET occurred_at = now() - interval '1 day' WHERE event_type = 'queue.removed'`;
    const late = await poll({ ...asked, maxAgeMs: 600_000 });
    expect([late.events.length, late.truncated]).toEqual([2, false]);
  });

  it('tells a gap with truncated: deleted receipts, and a gap receipt', async () => {
    const { sql } = gateway.database;
    const asked = { name: 'privacy', arguments: arguments_ };
    const { cursor } = await poll(asked);
    await append(sql, 'web_1_1', ['privacy.gap']);
    const told = await poll({ ...asked, cursor });
    expect([told.events.length, told.truncated]).toEqual([1, true]);
    await sql`UPDATE gateway.journal_head SET trimmed = position WHERE tenant = 1 AND site = 1`;
    const lost = await poll({ ...asked, cursor });
    expect(lost).toMatchObject({ events: [], truncated: true, hasMore: false });
    expect(await poll({ ...asked, cursor: lost.cursor })).toMatchObject({ truncated: false });
  });

  it('tells once that a website was away from the grant, also while the family is paused', async () => {
    const { sql } = gateway.database;
    const own = await gateway.issue();
    const hold = (sites: string) =>
      sql`UPDATE gateway.credential SET sites = ${sites}::text::bigint[] WHERE id = ${own.credential}`;
    const [row] = await sql`SELECT sites::text FROM gateway.credential WHERE id = ${own.credential}`;
    const asked = { name: 'visitor' };
    const first = await poll({ ...asked, cursor: null }, own.token);
    await hold('{1}');
    const narrow = await poll({ ...asked, cursor: first.cursor }, own.token);
    await append(sql, 'web_1_2', ['visitor.changed']);
    await hold(String(row?.['sites']));
    const wide = await poll({ ...asked, cursor: narrow.cursor }, own.token);
    expect([first.truncated, narrow.truncated, wide.truncated]).toEqual([false, false, true]);
    expect(await poll({ ...asked, cursor: wide.cursor }, own.token)).toMatchObject({ truncated: false });
    expect(await poll({ ...asked, cursor: first.cursor }, own.token)).toMatchObject({ truncated: false });
    await sql`INSERT INTO gateway.family_hold (tenant, site, family) VALUES (1, 1, 'visitor')`;
    expect(await poll({ ...asked, cursor: narrow.cursor }, own.token)).toMatchObject({ truncated: true });
    await sql`DELETE FROM gateway.family_hold`;
  });

  it('holds everything back while the family is paused, and keeps the cursor', async () => {
    const { sql } = gateway.database;
    const asked = { name: 'operator', arguments: arguments_ };
    const { cursor } = await poll(asked);
    await append(sql, 'web_1_1', ['operator.changed']);
    await sql`INSERT INTO gateway.family_hold (tenant, site, family) VALUES (1, 1, 'operator')`;
    const held = await poll({ ...asked, cursor });
    expect(held).toMatchObject({ events: [], truncated: false, hasMore: false, nextPollMs: 30_000 });
    await sql`DELETE FROM gateway.family_hold`;
    expect((await poll({ ...asked, cursor: held.cursor })).events).toHaveLength(1);
  });

  it('refuses wrong names, arguments, cursors and websites', async () => {
    expect(await code('events/poll', { name: 'visitor.changed' })).toBe(-32023);
    expect(await code('events/poll', { name: 'visitor', arguments: { other: 1 } })).toBe(-32602);
    expect(await code('events/poll', { name: 'visitor', arguments: { types: ['changed', 'changed'] } })).toBe(-32602);
    expect(await code('events/poll', { name: 'visitor', arguments: { types: [] } })).toBe(-32602);
    expect(await code('events/poll', { name: 'visitor', maxEvents: 0 })).toBe(-32602);
    expect(await code('events/poll', { name: 'visitor', cursor: 'made up' })).toBe(-32602);
    const { cursor } = await poll({ name: 'visitor' });
    expect(await code('events/poll', { name: 'queue', cursor })).toBe(-32602);
    const other = await gateway.issue();
    expect(await code('events/poll', { name: 'visitor', cursor }, other.token)).toBe(-32602);
    // A website that does not exist is refused like one that is not granted.
    const answers = await Promise.all(
      ['web_1_99', 'web_2_1'].map(async (website_id) => {
        const { body } = await ask('events/poll', { name: 'visitor', arguments: { website_id } });
        return body.error;
      }),
    );
    expect(answers[0].code).toBe(-32024);
    expect(answers[1]).toEqual(answers[0]);
  });

  it('costs one unit, and counts not among the twenty subscriptions', async () => {
    const other = await gateway.issue();
    for (let n = 0; n < 21; n++) await poll({ name: 'visitor', arguments: { types: [KINDS[n % 5]] } }, other.token);
    const { body } = await gateway.ask('/api/v1/subscriptions', { token: other.token });
    expect(body.subscriptions).toEqual([]);
  });
});
