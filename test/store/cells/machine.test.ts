import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keepJournals } from '../../../src/events/journals.ts';
import { startUpkeep, upkeep } from '../../../src/gateway/upkeep.ts';
import { clearOldMessages } from '../../../src/privacy/retention.ts';
import { demoRecords } from '../../../src/sources/files/demo.ts';
import { importRecords } from '../../../src/sources/files/import.ts';
import { takeSource } from '../../../src/sources/follow/state.ts';
import { endConsents } from '../../../src/store/administration/consents.ts';
import { compareAll } from '../../../src/store/administration/sources.ts';
import { mendClock } from '../../../src/store/calls/clock.ts';
import { eraseOutcomes, takeLapsed } from '../../../src/store/calls/ledger.ts';
import { clearMoved, type Emptied } from '../../../src/store/cells/ends.ts';
import { putGuards, takeGuards } from '../../../src/store/cells/guards.ts';
import { commitMove, takeHold } from '../../../src/store/cells/state.ts';
import { partsOf } from '../../../src/store/cells/tables.ts';
import { sqlState } from '../../../src/store/driver/errors.ts';
import { openDatabase } from '../../../src/store/driver/postgres.ts';
import { claimDeliveries, purgeDeliveries } from '../../../src/store/events/deliveries.ts';
import { leapJournals } from '../../../src/store/events/journal.ts';
import { buildIndexes } from '../../../src/store/open/build.ts';
import { purgeOAuth } from '../../../src/store/sign-in/upkeep.ts';
import { releaseTasks, renewTasks, withdrawTasks } from '../../../src/store/tasks/upkeep.ts';
import { sweep } from '../../../src/tasks/sweeper.ts';
import { BASE_URL, renamed } from '../../support/cells.ts';
import { issue } from '../../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { DEMO_NOW } from '../../support/postgres.ts';

/**
 * Organization 1 moves or has moved, so a guard refuses each change of its rows. Work for all organizations goes on for
 * organization 2, and leaves the rows of organization 1 as they are.
 */
let database: TestDatabase;
let gateway: TestGateway;
beforeAll(async () => {
  database = await freshDatabase('demo');
  await importRecords(database.db, renamed(demoRecords(new Date(DEMO_NOW))), {});
  gateway = await openTestGateway('demo', database);
  await database.sql`INSERT INTO gateway.move (tenant, phase, base_url, peer) VALUES (1, 'copying', ${BASE_URL}, 'planted')`;
  tasks = [await plant(1), await plant(2)];
  expect(await putGuards(database.db, '1')).toBeUndefined();
});
afterAll(() => gateway.close());

const id = (prefix: string): string => `${prefix}_${randomBytes(16).toString('hex')}`;
const digest = (): Buffer => randomBytes(32);
const operation = (): string => `op_${randomBytes(32).toString('hex')}`;
interface OpenTasks {
  readonly held: string;
  readonly withdrawn: string;
  readonly released: string;
}
let tasks: OpenTasks[] = [];

/** Rows of every kind that upkeep changes, older than their age. No trigger of the store fires. */
async function plant(tenant: number): Promise<OpenTasks> {
  const { credential, installation } = await issue(database.sql, tenant);
  const person = id('prs');
  const source = id('src');
  const open = { held: id('task'), withdrawn: id('task'), released: id('task') };
  await database.sql.begin(async (sql) => {
    await sql`SET LOCAL session_replication_role = replica`;
    await sql`INSERT INTO gateway.person (id, tenant, email, role) VALUES (${person}, ${tenant}, ${`${person}@example.com`}, 'owner')`;
    await sql`UPDATE gateway.credential SET hosted_client = 'https://x.example/a', hosted_host = 'x.example', hosted_person = ${person}
               WHERE id = ${credential}`;
    await sql`INSERT INTO gateway.token (digest, credential_id, kind, expires_at, audience, scopes, sites)
      VALUES (${digest()}, ${credential}, 'access', now() - interval '2 hours', 'rest', '{}', '{}')`;
    for (const [ends, salt] of [
      ['-31 days', null],
      ['-2 hours', null],
      ['1 day', digest()],
    ] as const) {
      const consent = id('cns');
      await sql`INSERT INTO gateway.consent (id, credential_id, person_id, request, audience, scopes, sites, renewable, code_digest,
          code_challenge, code_expires_at, redirect_uri, expires_at, data_access, idle)
        VALUES (${consent}, ${credential}, ${person}, ${digest()}, 'rest', '{}', '{}', true, ${digest()}, 'x', now(), 'x',
                now() + ${ends}::interval, '{}', interval '1 day')`;
      await sql`INSERT INTO gateway.refresh_token (digest, consent_id, expires_at, used_at, salt)
        VALUES (${digest()}, ${consent}, now(), now() - interval '1 minute', ${salt})`;
    }
    const endpoint = id('whk');
    await sql`INSERT INTO gateway.webhook_endpoint (id, credential_id, tenant, site, url, event_types, secret, old_secret, old_secret_until, position)
      VALUES (${endpoint}, ${credential}, ${tenant}, 1, 'https://x.example', '{visitor.*}', 'x', 'x', now() - interval '1 hour', 0)`;
    await sql`INSERT INTO gateway.webhook_delivery (endpoint_id, event_id, tenant, site, position, event_type, occurred_at, recorded_at,
        status, due_at, ended_at)
      VALUES (${endpoint}, ${`evt_${digest().toString('hex')}`}, ${tenant}, 1, 1, 'visitor.changed', now(), now(), 'delivered', now(),
              now() - interval '8 days')`;
    await sql`INSERT INTO gateway.source (id, tenant, site, kind, account, mode, period, time_zone, address, api_url, api_token)
      VALUES (${source}, ${tenant}, 1, 'chatwoot', ${source}, 'live', 5, 'UTC', 'x', 'x', 'x')`;
    const [old, lost, waits] = [operation(), operation(), operation()];
    for (const [name, status, age, lease] of [
      [old, 'acknowledged', '25 hours', null],
      [lost, 'pending', '1 minute', '-10 s'],
      [waits, 'pending', '25 hours', null],
    ] as const)
      await sql`INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, created_at, fingerprint, lease_until)
        VALUES (${name}, ${credential}, 1, ${tenant}, 1, 'visitor_note_add', ${status}, now() - ${age}::interval, ${digest()}, now() + ${lease}::interval)`;
    await sql`INSERT INTO gateway.approval (operation_id, credential_id, revision, tenant, site, operation, record, command, requested_at)
      VALUES (${waits}, ${credential}, 1, ${tenant}, 1, 'visitor_note_add', 1, '{}', now() - interval '25 hours')`;
    // More than one batch, so that rows which always stay would hide those of other organizations.
    await sql`INSERT INTO gateway.write_back (operation_id, source, tenant, site, record, target, author, at)
      SELECT ${old} || n, ${source}, ${tenant}, 1, 1, 'x', 1, now() - ${`${28 - tenant} hours`}::interval
        FROM generate_series(1, CASE ${tenant}::integer WHEN 1 THEN 12 ELSE 3 END) n`;
    for (const [task, state, lease, ends] of [
      [id('task'), 'working', '-1 s', '1 hour'],
      [id('task'), 'canceled', null, '-1 hour'],
      [open.held, 'working', '5 minutes', '1 hour'],
      [open.withdrawn, 'submitted', '5 minutes', '1 hour'],
      [open.released, 'working', '5 minutes', '1 hour'],
    ] as const)
      await sql`INSERT INTO gateway.task (id, installation_id, credential_id, message, fingerprint, grants, context_id, skill, state, state_at,
          owner, lost_as, lease_until, created_at, expires_at)
        VALUES (${task}, ${installation}, ${credential}, ${digest()}, ${digest()}, ${digest()}, 'x', 'x', ${state}, now(), 'me', 'interrupted',
                now() + ${lease}::interval, now(), now() + ${ends}::interval)`;
    await sql`INSERT INTO gateway.journal_head (tenant, site, position) VALUES (${tenant}, 1, 1)
      ON CONFLICT (tenant, site) DO UPDATE SET position = 1, trimmed = 0, last_at = '{}'`;
    await sql`DELETE FROM gateway.journal WHERE tenant = ${tenant}`;
    await sql`INSERT INTO gateway.journal (tenant, site, position, event_type, occurred_at, recorded_at)
      VALUES (${tenant}, 1, 1, 'visitor.changed', now() - interval '8 days', now() - interval '8 days')`;
    await sql`UPDATE platform.organization SET keep_messages_days = 1 WHERE tenant = ${tenant}`;
  });
  return open;
}

/** A digest of each table's rows of organization 1. */
async function rowsOfMoved(): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const { name, where } of partsOf('1')) {
    const [row] = await database.sql.unsafe<{ all: string }[]>(
      `SELECT count(*) || ' ' || md5(coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '')) AS all FROM ${name} t WHERE ${where}`,
    );
    found[name] = row?.all ?? '';
  }
  return found;
}

/** What is left of the planted rows of organization 2. */
async function leftOf2(): Promise<object | undefined> {
  const [row] = await database.sql`
    WITH c AS (SELECT c.id FROM gateway.credential c WHERE c.hosted_person IN (SELECT p.id FROM gateway.person p WHERE p.tenant = 2)),
         n AS (SELECT n.* FROM gateway.consent n WHERE n.credential_id IN (SELECT id FROM c))
    SELECT (SELECT count(*) FROM gateway.token WHERE credential_id IN (SELECT id FROM c) AND kind = 'access')::integer AS tokens,
           (SELECT count(*) FROM n)::integer AS consents, (SELECT count(*) FROM n WHERE revoked_because = 'host')::integer AS strange,
           (SELECT count(*) FROM gateway.refresh_token WHERE consent_id IN (SELECT id FROM n WHERE revoked_at IS NULL))::integer AS refreshes,
           (SELECT count(*) FROM gateway.webhook_delivery WHERE tenant = 2 AND ended_at IS NOT NULL)::integer AS deliveries,
           (SELECT count(*) FROM gateway.webhook_endpoint WHERE tenant = 2 AND old_secret IS NOT NULL)::integer AS secrets,
           (SELECT count(*) FROM gateway.operation WHERE tenant = 2 AND created_at < now() - interval '24 hours' AND fingerprint IS NOT NULL)::integer AS outcomes,
           (SELECT count(*) FROM gateway.operation WHERE tenant = 2 AND lease_until < now())::integer AS lapsed,
           (SELECT count(*) FROM gateway.approval WHERE tenant = 2 AND state = 'pending')::integer AS approvals,
           (SELECT count(*) FROM gateway.task WHERE credential_id IN (SELECT id FROM c) AND (lease_until < now() OR expires_at < now()))::integer AS tasks,
           (SELECT count(*) FROM gateway.journal WHERE tenant = 2 AND recorded_at < now() - interval '7 days')::integer AS receipts,
           (SELECT count(*) FROM platform.message WHERE tenant = 2 AND text IS NOT NULL AND created_at < now() - interval '1 day')::integer AS texts`;
  return row;
}

const refusedForMoved = (): Promise<unknown> =>
  expect(database.sql`UPDATE gateway.webhook_endpoint SET description = 'x' WHERE tenant = 1`).rejects.toMatchObject({
    code: 'GWMOV',
  });

/** Another system begins to perform a write of organization 2. Returns what is left of its old rows. */
async function beginWrite(): Promise<number | undefined> {
  const { sql } = database;
  const name = operation();
  await sql`INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint)
    SELECT ${name}, credential_id, 1, 2, 1, operation, 'pending', fingerprint FROM gateway.operation WHERE tenant = 2 LIMIT 1`;
  const [begun] = await sql<{ said: object }[]>`
    SELECT gateway.write_back_begin(${name}, 2, 1, 'conversation_reply', jsonb_build_object('conversation', c.id), 1, '10 s') AS said
      FROM platform.conversation c WHERE c.tenant = 2 AND c.site = 1 ORDER BY c.id LIMIT 1`;
  expect(begun?.said).toMatchObject({ kind: 'chatwoot', target: expect.any(String) });
  const [left] = await sql<{ n: number }[]>`
    SELECT count(*)::integer AS n FROM gateway.write_back WHERE tenant = 2 AND at < now() - interval '25 hours'`;
  return left?.n;
}

it('during the hold, the short work of the gateway goes on for the others', async () => {
  const { db, sql } = database;
  const holder = await sql.reserve();
  try {
    await holder`SELECT pg_advisory_lock(gateway.move_lock(1))`;
    await holder`UPDATE gateway.move SET phase = 'holding'`;
    await refusedForMoved();
    const before = await rowsOfMoved();
    // One row of each kind at a time: those of organization 1 may come first.
    for (let n = 0; n < 3; n++) {
      await purgeOAuth(db, 500);
      await purgeDeliveries(db, 500);
      await eraseOutcomes(db, 500);
      await sweep(db);
      await takeLapsed(db, 500);
    }
    const states = await renewTasks(
      db,
      tasks.map(({ held }) => held),
    );
    expect([...states.values()]).toEqual(['working', 'working']);
    expect(await rowsOfMoved()).toEqual(before);
    // The outcome that is left waits for an approval.
    expect(await leftOf2()).toMatchObject({ tokens: 0, deliveries: 0, secrets: 0, outcomes: 1, lapsed: 0, tasks: 0 });
  } finally {
    await holder`SELECT pg_advisory_unlock_all()`;
    holder.release();
  }
});

it('a write whose statement began before the end of the hold is refused after it', async () => {
  const { sql } = database;
  const { host, port, name: database_ } = database;
  const target = { host, port, database: database_, username: 'postgres' };
  const holder = openDatabase({ target, connections: 1, statementTimeout: 5_000, name: 'test' });
  await sql`UPDATE gateway.move SET phase = 'copying' WHERE tenant = 1`;
  const locking = await sql.reserve();
  await locking`BEGIN`;
  await locking`SELECT FROM gateway.webhook_endpoint WHERE tenant = 1 FOR UPDATE`;
  // The statement takes its snapshot now, and waits for the row. The guard of the row comes after that.
  const late = sql`UPDATE gateway.webhook_endpoint SET description = 'late' WHERE tenant = 1`.then(
    () => 'written',
    sqlState,
  );
  await expect
    .poll(() => sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
    .toHaveLength(1);
  expect(await commitMove(holder, '1', await takeHold(holder, '1', 1_000))).toBe(true);
  await holder.close();
  await locking`ROLLBACK`;
  locking.release();
  expect(await late).toBe('GWMOV');
});

it('after the move, all upkeep goes on for the others, and no row of the moved one changes', async () => {
  const { db, sql } = database;
  await sql.begin(async (own) => {
    await own`SET LOCAL session_replication_role = replica`;
    await own`UPDATE gateway.move SET phase = 'moved', moved_at = now(), keep_until = now() + interval '7 days'`;
    await own`UPDATE platform.organization SET moved_to = ${BASE_URL}, moved_at = now() WHERE tenant = 1`;
  });
  tasks = [tasks[0] ?? expect.fail(), await plant(2)];
  await refusedForMoved();
  // The clock went back an hour (34_clock.sql).
  await sql.begin(async (own) => {
    await own`SET LOCAL session_replication_role = replica`;
    await own`INSERT INTO gateway.quota (app_id, tokens, at) SELECT id, 1, now() + interval '1 hour' FROM gateway.app
      ON CONFLICT (app_id) DO UPDATE SET at = excluded.at`;
    await own`UPDATE gateway.source SET lease_until = now() + interval '1 hour'`;
  });
  const before = await rowsOfMoved();
  const { registry } = gateway.corridor;
  const remote = { perform: () => expect.fail('performed'), find: async () => undefined };
  for (let n = 0; n < 2; n++) {
    await mendClock(db, null);
    await upkeep({ db, registry, remote, clientHosts: ['trusted.example'] });
    await keepJournals(db);
    await clearOldMessages(db);
    await sweep(db);
    await claimDeliveries(db, { eventKey: digest(), seats: 512, schedule: [0, 60], mcp: true });
    await purgeDeliveries(db, 500);
    expect((await takeSource(db, 'me'))?.tenant).not.toBe('1');
  }
  expect(
    (
      await renewTasks(
        db,
        tasks.map(({ held }) => held),
      )
    ).size,
  ).toBe(2);
  await releaseTasks(
    db,
    'me',
    tasks.map(({ released }) => released),
  );
  await withdrawTasks(
    db,
    'me',
    tasks.map(({ withdrawn }) => withdrawn),
  );
  expect(await leftOf2()).toEqual({
    ...{ tokens: 0, consents: 4, strange: 2, refreshes: 0, deliveries: 0, secrets: 0, outcomes: 0, lapsed: 0 },
    ...{ approvals: 0, tasks: 0, receipts: 0, texts: 0 },
  });
  const [own] = await sql`
    SELECT (SELECT state FROM gateway.task WHERE id = ${tasks[1]?.released ?? ''}) AS released,
           (SELECT count(*)::integer FROM gateway.task WHERE id = ${tasks[1]?.withdrawn ?? ''}) AS withdrawn`;
  expect(own).toEqual({ released: 'failed', withdrawn: 0 });
  expect(
    await sql`SELECT tenant::integer AS tenant FROM gateway.source WHERE lease_until > now() + interval '1 minute' GROUP BY 1`,
  ).toEqual([{ tenant: 1 }]);
  expect(await beginWrite()).toBe(0);
  expect(await rowsOfMoved()).toEqual(before);
});

it('the build of the search and the commands after a restore leave the moved one out', async () => {
  const { db, sql } = database;
  const before = await rowsOfMoved();
  await sql`INSERT INTO gateway.unnoted_block (kind, relation) VALUES ('message', 'platform.message')`;
  await sql`DELETE FROM platform.said_block WHERE tenant = 2 AND kind = 'message'`;
  await buildIndexes({ builder: db, db, log: () => undefined, stop: new AbortController().signal });
  expect(await sql`SELECT FROM platform.said_block WHERE tenant = 2 AND kind = 'message'`).not.toHaveLength(0);
  await leapJournals(db, ['visitor']);
  await endConsents(db);
  await compareAll(db);
  expect(await rowsOfMoved()).toEqual(before);
});

it('rows of organizations whose days are over are deleted, although those of another cannot be', async () => {
  const { db, sql } = database;
  // The guard of organization 1 is still there, so no row of it can be deleted.
  await sql`INSERT INTO gateway.move (tenant, phase, base_url, peer) VALUES (2, 'moved', ${BASE_URL}, 'planted')`;
  await sql.begin(async (own) => {
    await own`SET LOCAL session_replication_role = replica`;
    await own`UPDATE gateway.move SET phase = 'moved', cleared = true, moved_at = now(), keep_until = now()`;
    await own`UPDATE platform.organization SET moved_to = ${BASE_URL}, moved_at = now()`;
  });
  const errors: unknown[] = [];
  const job = startUpkeep({ db, registry: gateway.corridor.registry, onError: (error) => errors.push(error) });
  const left = async (): Promise<unknown[]> => {
    job.wake();
    return (await sql`SELECT tenant::integer AS n FROM gateway.move ORDER BY tenant`).map(({ n }) => n);
  };
  const kept = await rowsOfMoved();
  await expect.poll(left).toEqual([1]);
  expect(errors.map((error) => error instanceof Error && sqlState(error.cause))).toContain('GWMOV');
  expect(await rowsOfMoved()).toEqual(kept);
  expect(await sql`SELECT FROM platform.message WHERE tenant = 2`).toHaveLength(0);
  // A row that is locked for a while is not forgotten.
  expect(await takeGuards(db, '1')).toBeUndefined();
  const locking = await sql.reserve();
  await locking`BEGIN`;
  await locking`SELECT FROM platform.website WHERE tenant = 1 FOR UPDATE`;
  await job.stop();
  const emptied: Emptied = new Map();
  for (let i = 0; i < 20; i++) await clearMoved(db, emptied);
  expect(await left()).toEqual([1]);
  await locking`ROLLBACK`;
  locking.release();
  const cleared = async (): Promise<unknown[]> => {
    await clearMoved(db, emptied);
    return left();
  };
  await expect.poll(cleared).toEqual([]);
  expect(await sql`SELECT FROM platform.website WHERE tenant = 1`).toHaveLength(0);
});

it('however many organizations are due, each round gets further', async () => {
  const { db, sql } = database;
  const names = Array.from({ length: 60 }, (_, i) => `due ${i}`);
  await sql.begin(async (own) => {
    await own`SET LOCAL session_replication_role = replica`;
    await own`INSERT INTO platform.organization (tenant, external_id, name, moved_to, moved_at)
      SELECT 100 + n, u.name, u.name, ${BASE_URL}, now() FROM unnest(${names}::text[]) WITH ORDINALITY u(name, n)`;
    await own`INSERT INTO gateway.move (tenant, phase, base_url, peer, cleared, moved_at, keep_until)
      SELECT 100 + n, 'moved', ${BASE_URL}, 'planted', true, now(), now() FROM generate_series(1, ${names.length}) n`;
  });
  const emptied: Emptied = new Map();
  const waiting = async (): Promise<number> => {
    await clearMoved(db, emptied);
    return (await sql`SELECT FROM gateway.move WHERE tenant > 100`).length;
  };
  // A process that is new in each round gets no further: the tables of all of them take longer than a round.
  await expect.poll(waiting, { interval: 1 }).toBe(0);
});

it('upkeep goes on when the clock cannot be mended', async () => {
  const { db, sql } = database;
  await sql.begin(async (own) => {
    await own`SET LOCAL session_replication_role = replica`;
    await own`INSERT INTO platform.organization (tenant, external_id, name, moved_to, moved_at)
      VALUES (200, 'later', 'Later', ${BASE_URL}, now())`;
    await own`INSERT INTO gateway.move (tenant, phase, base_url, peer, cleared, moved_at, keep_until)
      VALUES (200, 'moved', ${BASE_URL}, 'planted', true, now(), now())`;
  });
  await sql`ALTER FUNCTION gateway.mend_clock RENAME TO mend_clock_away`;
  const errors: unknown[] = [];
  const job = startUpkeep({ db, registry: gateway.corridor.registry, onError: (error) => errors.push(error) });
  const left = async (): Promise<number> => {
    job.wake();
    return (await sql`SELECT FROM gateway.move WHERE tenant = 200`).length;
  };
  await expect.poll(left).toBe(0);
  await job.stop();
  await sql`ALTER FUNCTION gateway.mend_clock_away RENAME TO mend_clock`;
  expect(String(errors[0])).toContain('because the clock went back, were not mended');
});
