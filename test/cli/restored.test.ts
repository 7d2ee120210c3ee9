import { afterAll, beforeAll, expect, it } from 'vitest';
import { append, create, definition, pull } from '../events/subscriptions.support.ts';
import type { TestDatabase } from '../support/database.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { cliDatabase, gateway as command, document } from './support.ts';

/** `gateway restored`, and what else a store in the past or from the future is met with. */
let database: TestDatabase;
let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  database = await cliDatabase('demo');
  gateway = await openTestGateway('demo', { ...database, close: async () => undefined });
  ({ token } = await gateway.issue());
});
afterAll(async () => {
  await gateway.close();
  await database.close();
});

it('cursors of the time that was lost end, however far the journal goes on; no event id is given twice; all learn of a gap', async () => {
  const { sql } = database;
  const on = definition(['web_1_1'], { start: 'retained' });
  const { id, cursor } = await create(gateway, token, on);
  const ids = (body: { events: { event_id: string }[] }) => body.events.map(({ event_id }) => event_id);
  await append(sql, 'web_1_1', ['visitor.changed']);
  const kept = await pull(gateway, token, id, cursor);
  // A backup is made here. What comes after it is seen by a client, and lost.
  await append(
    sql,
    'web_1_1',
    Array.from({ length: 5 }, () => 'visitor.changed'),
  );
  const seen = await pull(gateway, token, id, kept.body.next_cursor);
  expect(ids(seen.body)).toHaveLength(5);
  await sql`DELETE FROM gateway.journal WHERE tenant = 1 AND site = 1
    AND position > (SELECT position - 5 FROM gateway.journal_head WHERE tenant = 1 AND site = 1)`;
  await sql`UPDATE gateway.journal_head SET position = position - 5 WHERE tenant = 1 AND site = 1`;

  expect(await document('restored')).toEqual({ websites: 2 });
  await append(
    sql,
    'web_1_1',
    Array.from({ length: 10 }, () => 'visitor.changed'),
  );
  for (const old of [cursor, kept.body.next_cursor, seen.body.next_cursor]) {
    const refused = await pull(gateway, token, id, old);
    expect([refused.status, refused.body.code]).toEqual([409, 'replay_expired']);
  }
  const anew = await create(gateway, token, on);
  const after = await pull(gateway, token, anew.id, anew.cursor, 100);
  const types = after.body.events.map(({ event_type }: { event_type: string }) => event_type);
  expect(types.slice(0, 7).sort()).toEqual(on.event_types.map((all) => all.replace('*', 'gap')).sort());
  expect(types.slice(7)).toEqual(Array.from({ length: 10 }, () => 'visitor.changed'));
  const before = new Set([...ids(kept.body), ...ids(seen.body)]);
  expect(ids(after.body).filter((one) => before.has(one))).toEqual([]);
  expect(await document('doctor')).toMatchObject({ findings: [] });

  // Put back once more: it may be said again.
  expect(await document('restored')).toEqual({ websites: 2 });
  expect((await pull(gateway, token, anew.id, after.body.next_cursor)).body.code).toBe('replay_expired');
});

it('a store of a newer gateway is refused with a sentence', async () => {
  await database.sql`INSERT INTO public.gateway_migration (version, name) VALUES (9999, '9999_future.sql')`;
  const { code, stderr } = await command('migrate');
  await database.sql`DELETE FROM public.gateway_migration WHERE version = 9999`;
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^gateway: The store is at schema version 9999, this gateway knows \d+\. Start the newer gateway, or restore a backup\.\n$/,
  );
});
