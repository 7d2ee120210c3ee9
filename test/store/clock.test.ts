import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { beganComparison, comparisonDue, loaded, takeSource } from '../../src/sources/follow/state.ts';
import { askComparison } from '../../src/store/administration/sources.ts';
import { mendClock } from '../../src/store/calls/clock.ts';
import { openLedgerKey, takeLapsed } from '../../src/store/calls/ledger.ts';
import { claimDeliveries } from '../../src/store/events/deliveries.ts';
import { sweepTasks } from '../../src/store/tasks/upkeep.ts';
import { seed } from '../support/chatwoot/source-rows.ts';
import { type ChatwootWorld, chatwootWorld } from '../support/chatwoot/source-world.ts';
import { addEndpoint, answer, openReceiver, type Receiver, run, tell, until } from '../support/events/webhooks.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { type AddedSource, addSource } from '../support/sources.ts';

/**
 * PostgreSQL's clock goes back an hour, as after a failover to a server whose clock is behind. What processes have stored
 * just before then lies an hour ahead. The test moves the stored times in place of the clock. test/faults/patroni-machines
 * has real servers with real clocks.
 */
let gateway: TestGateway;
let desk: ChatwootWorld;
let source: AddedSource;
let receiver: Receiver;
beforeAll(async () => {
  gateway = await openTestGateway();
  desk = await chatwootWorld();
  await seed(desk.sql);
  await desk.grant('poll');
  source = await addSource(gateway.database, { address: desk.address(), mode: 'poll' });
  receiver = await openReceiver(answer(200));
});
afterAll(async () => {
  await receiver.close();
  await gateway.close();
  await desk.close();
});

const TABLES = ['quota', 'source', 'operation', 'task', 'webhook_delivery', 'write_back', 'realtime_session'];

/** Makes every time of these tables later, by default an hour. */
async function goBack(by = '1 hour'): Promise<void> {
  const columns = await gateway.database.sql<{ name: string; set: string }[]>`
    SELECT table_name AS name, string_agg(format('%1$I = %1$I + interval %2$L', column_name, ${by}::text), ', ') AS set
      FROM information_schema.columns
     WHERE table_schema = 'gateway' AND data_type = 'timestamp with time zone' AND table_name = ANY (${TABLES}) GROUP BY 1`;
  expect(columns.map(({ name }) => name).toSorted()).toEqual(TABLES.toSorted());
  await gateway.database.sql.begin(async (sql) => {
    await sql`SET LOCAL session_replication_role = replica`;
    for (const { name, set } of columns) await sql.unsafe(`UPDATE gateway.${name} SET ${set}`);
  });
}

/** Every store with calls has a bucket that tells that the clock went back. */
async function backAndMended(by?: string): Promise<void> {
  const { token } = await gateway.issue();
  expect((await gateway.ask('/api/v1/websites', { token })).status).toBe(200);
  await goBack(by);
  await mendClock(gateway.database.db, null);
}

/** Seconds from now until a time that the store holds. */
async function inSeconds(table: string, column: string, where: string): Promise<number> {
  const [row] = await gateway.database.sql.unsafe<{ s: number }[]>(
    `SELECT extract(epoch FROM ${column} - clock_timestamp())::float8 AS s FROM gateway.${table} WHERE ${where}`,
  );
  return row?.s ?? Number.NaN;
}

it('gives an app its units again', async () => {
  const { token, app } = await gateway.issue({ perMinute: 600, burst: 5 });
  const ask = async (): Promise<number> => (await gateway.ask('/api/v1/websites', { token })).status;
  while ((await ask()) === 200);
  await goBack();
  await pause(2_500);
  expect(await ask()).toBe(429);
  await mendClock(gateway.database.db, null);
  await until(async () => (await ask()) === 200, 2_500);
  expect(await inSeconds('quota', 'at', `app_id = '${app}'`)).toBeLessThanOrEqual(0);
});

it('compares a source once for each request', async () => {
  const { db, sql } = gateway.database;
  const held = async (): Promise<{ id: string; tenant: number; epoch: number }> => {
    const [row] = await sql<
      { epoch: number }[]
    >`SELECT epoch::float8 AS epoch FROM gateway.source WHERE id = ${source.id}`;
    return { id: source.id, tenant: source.tenant, epoch: row?.epoch ?? 0 };
  };
  const compared = async (): Promise<boolean> => {
    const mine = await held();
    await beganComparison(db, mine);
    await loaded(db, mine, { written: 0, removed: 0, suppressed: 0 }, 'cw:1:website:1');
    return comparisonDue(db, mine);
  };
  await askComparison(db, source.id);
  await backAndMended();
  expect(await comparisonDue(db, await held())).toBe(true);
  expect(await compared()).toBe(false);
  await askComparison(db, source.id);
  expect(await comparisonDue(db, await held())).toBe(true);
  expect(await compared()).toBe(false);
});

it('compares a source at night in a time zone that only the gateway knows', async () => {
  const { db, sql } = gateway.database;
  const [row] = await sql<
    { epoch: number }[]
  >`SELECT epoch::float8 AS epoch FROM gateway.source WHERE id = ${source.id}`;
  const mine = { id: source.id, tenant: source.tenant, epoch: row?.epoch ?? 0 };
  const due = async (zone: string): Promise<boolean> => {
    await sql`UPDATE gateway.source SET time_zone = ${zone}, compared_at = now() - interval '21 hours', compare_asked = NULL`;
    return comparisonDue(db, mine);
  };
  await expect(sql`SELECT now() AT TIME ZONE 'US/Pacific-New'`).rejects.toThrow(/not recognized/);
  // The sign of these names is the other way round.
  const at = (local: number): string => {
    const offset = ((local - new Date().getUTCHours() + 36) % 24) - 12;
    return `Etc/GMT${offset < 0 ? '+' : '-'}${Math.abs(offset)}`;
  };
  expect([await due(at(3)), await due(at(12))]).toEqual([true, false]);
  expect(typeof (await due('US/Pacific-New'))).toBe('boolean');
  await sql`UPDATE gateway.source SET time_zone = 'UTC'`;
});

it('delivers what was queued, what a dead process had leased, and what waits for its next attempt', async () => {
  const { db } = gateway.database;
  const { credential } = await gateway.issue();
  const { id } = await addEndpoint(gateway.database, credential, receiver.url);
  const schedule = [0, 2, 2, 2, 2];
  const eventKey = await openLedgerKey(db)();
  await tell(gateway.database, 2);
  const { claims } = await claimDeliveries(db, { eventKey, seats: 1, schedule, mcp: false });
  expect(claims.length).toBe(1);
  receiver.reply(answer(500));
  const failing = run(gateway.database, [receiver], { schedule });
  await until(() => receiver.got.length >= 1);
  await failing.stop();
  await tell(gateway.database, 1);
  await claimDeliveries(db, { eventKey, seats: 0, schedule, mcp: false });
  await goBack();
  receiver.reply(answer(200));
  const before = receiver.got.length;
  const running = run(gateway.database, [receiver], { schedule });
  try {
    const waiting = `endpoint_id = '${id}' AND status = 'pending'`;
    await pause(3_000);
    expect(receiver.got.length).toBe(before);
    await mendClock(db, null);
    expect(await inSeconds('webhook_delivery', 'max(due_at)', waiting)).toBeLessThanOrEqual(15);
    await until(() => new Set(receiver.got.slice(before).map(({ id: event }) => event)).size === 3, 20_000);
  } finally {
    await running.stop();
  }
});

it.each(['1 hour', '70 seconds'])(
  '%s back: takes over from a dead process its source, its command at the helpdesk, and its task',
  async (by) => {
    const { db, sql } = gateway.database;
    const { credential, installation } = await gateway.issue();
    await sql`UPDATE gateway.source SET lease_until = '-infinity', seen_at = NULL`;
    expect(await takeSource(db, 'dead', source.id)).toMatchObject({ id: source.id });
    const [operation, task] = [`op_${randomBytes(32).toString('hex')}`, `task_${randomBytes(16).toString('hex')}`];
    await sql`INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint, lease_until, attempt)
    VALUES (${operation}, ${credential}, 1, 1, 1, 'visitor_note_add', 'pending', ${randomBytes(32)}, now() + interval '10 seconds', gen_random_uuid())`;
    await sql`INSERT INTO gateway.task (id, installation_id, credential_id, message, fingerprint, grants, context_id, skill, state, state_at,
      owner, lost_as, lease_until, created_at, expires_at)
    VALUES (${task}, ${installation}, ${credential}, ${randomBytes(32)}, ${randomBytes(32)}, ${randomBytes(32)}, 'ctx', 'contact_inspection',
      'working', now(), 'dead', 'interrupted', now() + interval '10 seconds', now(), now() + interval '1 day')`;
    await backAndMended(by);
    let lapsed: readonly string[] = [];
    let interrupted = 0;
    let taken: string | undefined;
    await until(async () => {
      taken ??= (await takeSource(db, 'alive'))?.id;
      lapsed = [...lapsed, ...(await takeLapsed(db, 10)).map(({ operationId }) => operationId)];
      interrupted += (await sweepTasks(db, 10)).interrupted;
      return taken !== undefined && lapsed.includes(operation) && interrupted > 0;
    }, 12_000);
    expect([taken, lapsed.filter((one) => one === operation), interrupted]).toEqual([source.id, [operation], 1]);
  },
);

it('leaves the rows of an organization that arrives from another cell as they are', async () => {
  const { sql } = gateway.database;
  const lease = async (): Promise<object[]> => [
    ...(await sql`SELECT lease_until, seen_at FROM gateway.source WHERE id = ${source.id}`),
  ];
  const moved = (to: string | null): Promise<unknown> =>
    sql`UPDATE platform.organization SET moved_to = ${to}, moved_at = CASE WHEN ${to === null} THEN NULL ELSE now() END WHERE tenant = ${source.tenant}`;
  await sql`UPDATE gateway.source SET lease_until = now() + interval '1 hour' WHERE id = ${source.id}`;
  const before = await lease();
  await gateway.issue().then(({ token }) => gateway.ask('/api/v1/websites', { token }));
  await sql`UPDATE gateway.quota SET at = now() + interval '1 hour'`;
  await moved('https://cell2.example.com');
  await mendClock(gateway.database.db, null);
  expect(await lease()).toEqual(before);
  await moved(null);
  await sql`UPDATE gateway.quota SET at = now() + interval '1 hour'`;
  await mendClock(gateway.database.db, null);
  expect(await lease()).not.toEqual(before);
});
