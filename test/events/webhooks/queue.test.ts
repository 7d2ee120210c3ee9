import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { compile } from '../../../src/core/sql.ts';
import { eventId } from '../../../src/events/receipts.ts';
import { newWebhookSecret } from '../../../src/outbound/signature.ts';
import {
  claimTest,
  type Replay,
  type Replayed,
  readDeliveries,
  replayDeliveries,
  rotateEndpoint,
  updateEndpoint,
} from '../../../src/store/administration/endpoints.ts';
import { openLedgerKey } from '../../../src/store/calls/ledger.ts';
import { lapsedDeliveries } from '../../../src/store/doctor/doctor.ts';
import type { Database } from '../../../src/store/driver/postgres.ts';
import {
  type Claim,
  claimDeliveries,
  type Settlement,
  settleDeliveries,
} from '../../../src/store/events/deliveries.ts';
import { issue } from '../../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import {
  addEndpoint,
  answer,
  log,
  openReceiver,
  queued,
  type Receiver,
  type Running,
  run,
  tell,
  until,
  verified,
} from '../../support/events/webhooks.ts';
import { KEYS } from '../../support/keys.ts';

let database: TestDatabase;
let credential: string;
let receiver: Receiver;
let running: Running | undefined;
beforeAll(async () => {
  database = await freshDatabase('demo');
});
afterAll(() => database.close());
beforeEach(async () => {
  credential = (await issue(database.sql, 1)).credential;
  receiver = await openReceiver();
});
afterEach(async () => {
  await running?.stop();
  expect(running?.errors ?? []).toEqual([]);
  running = undefined;
  await receiver.close();
  await database.sql`DELETE FROM gateway.webhook_endpoint`;
  await database.sql`DELETE FROM gateway.family_hold`;
});

const SCHEDULE = [0, 600, 600, 600, 600];
const start = (more: Parameters<typeof run>[2] = {}): void => {
  running = run(database, [receiver], more);
};
const claim = async (seats = 512, schedule: readonly number[] = SCHEDULE): Promise<readonly Claim[]> =>
  (await claimDeliveries(database.db, { eventKey: await openLedgerKey(database.db)(), seats, schedule, mcp: true }))
    .claims;
async function claimOne(): Promise<Claim> {
  const [one, ...others] = await claim();
  if (!one || others.length > 0) throw new Error(`${others.length} other claims`);
  return one;
}
const outcome = ({ id, endpoint, url, attempt, losses }: Claim, more: Partial<Settlement>): Settlement => {
  const none = { delivered: false, unused: false, wait: null, gone: false, status: 500, error: null };
  return { id, endpoint, url, attempt, losses, ...none, ...more };
};
const settle = (...results: readonly Settlement[]): ReturnType<typeof settleDeliveries> =>
  settleDeliveries(database.db, results);
async function row(id: string): Promise<Readonly<Record<string, unknown>>> {
  const [found] = await database.sql`SELECT * FROM gateway.webhook_endpoint WHERE id = ${id}`;
  return found ?? {};
}
const gapOf = async (id: string): Promise<number> => Number((await row(id))['gap_since']);
const recordedFirst = async (id: string): Promise<number> =>
  Number(
    (await database.sql`SELECT min(recorded_at) AS at FROM gateway.webhook_delivery WHERE endpoint_id = ${id}`)[0]?.[
      'at'
    ],
  );
const states = async (id: string): Promise<string[]> => (await log(database, id)).map(({ status }) => status);
const replay = async (id: string, which: Replay): Promise<Replayed> =>
  replayDeliveries(database.db, id, await openLedgerKey(database.db)(), which);
const hold = (family = 'visitor'): Promise<unknown> =>
  database.sql`INSERT INTO gateway.family_hold (tenant, site, family) VALUES (1, 1, ${family})`;
/**
 * Locks the row of an endpoint until the caller calls the returned function. Before the lock, `within` runs in the same
 * transaction.
 */
async function locking(id: string, within: (sql: postgres.TransactionSql) => Promise<unknown> = async () => undefined) {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let locked = (): void => undefined;
  const taken = new Promise<void>((resolve) => {
    locked = resolve;
  });
  const done = database.sql.begin(async (sql) => {
    await sql`SELECT FROM gateway.webhook_endpoint WHERE id = ${id} FOR NO KEY UPDATE`;
    await within(sql);
    locked();
    await held;
  });
  await Promise.race([taken, done]);
  return async (): Promise<void> => {
    release();
    await done;
  };
}
async function replaced(name: string, text: (now: string) => string, during: () => Promise<void>): Promise<void> {
  const [found] = await database.sql<{ text: string }[]>`SELECT pg_get_functiondef(${name}::regproc) AS text`;
  const before = found?.text ?? '';
  expect(text(before)).not.toBe(before);
  await database.sql.unsafe(text(before));
  try {
    await during();
  } finally {
    await database.sql.unsafe(before);
  }
}

describe('bounds', () => {
  it('five hundred endpoints of a held family do not stop a good one, and each round is short', async () => {
    await addEndpoint(database, credential, receiver.url, { site: '2' });
    const { id } = await addEndpoint(database, credential, receiver.url, { eventTypes: ['visitor.*'] });
    await database.sql`
      INSERT INTO gateway.webhook_endpoint (id, credential_id, tenant, site, url, event_types, secret, position)
      SELECT 'whk_' || md5(i::text), e.credential_id, e.tenant, e.site, e.url, e.event_types, e.secret, e.position
        FROM gateway.webhook_endpoint e CROSS JOIN generate_series(1, 499) AS i WHERE e.id = ${id}`;
    await hold();
    await tell(database, 400);
    let before = 0;
    for (let n = 0; n < 3; n++) {
      const began = performance.now();
      expect(await claim()).toEqual([]);
      expect(performance.now() - began).toBeLessThan(1_500);
      const now = await queued(database);
      expect(now).toBeGreaterThan(before);
      before = now;
    }
    expect(before).toBeLessThan(500 * 400);
    start();
    await tell(database, 1, 'visitor.changed', '2');
    await until(() => receiver.got.length === 1);
  });

  const addHundred = async (): Promise<void> => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await database.sql`
      INSERT INTO gateway.webhook_endpoint (id, credential_id, tenant, site, url, event_types, secret, position)
      SELECT 'whk_' || md5(i::text), e.credential_id, e.tenant, e.site, e.url, e.event_types, e.secret, e.position
        FROM gateway.webhook_endpoint e CROSS JOIN generate_series(1, 99) AS i WHERE e.id = ${id}`;
  };

  it('endpoints whose rights take long to check are delivered to, a part in each short round', async () => {
    await addHundred();
    await tell(database, 1);
    const slow = (text: string) =>
      text.replace('gateway.may_be_told(e', '(SELECT true FROM pg_sleep(0.02)) AND gateway.may_be_told(e');
    await replaced('gateway.may_deliver', slow, async () => {
      const began = performance.now();
      const claims = await claim();
      expect(performance.now() - began).toBeLessThan(1_500);
      expect(claims.length).toBeGreaterThan(0);
      expect(claims.length).toBeLessThan(100);
      await settle(...claims.map((one) => outcome(one, { unused: true, wait: 0, status: null })));
      start();
      await until(() => receiver.got.length === 100);
    });
  });

  it('a round that takes longer than a lease is fresh delivers what it has leased last', async () => {
    await addEndpoint(database, credential, receiver.url);
    const before = (text: string) =>
      text.replace('PERFORM gateway.end_mcp', 'PERFORM pg_sleep(1.2);\n  PERFORM gateway.end_mcp');
    await replaced('gateway.claim_deliveries', before, async () => {
      await tell(database, 1);
      start();
      await until(() => receiver.got.length === 1, 10_000);
    });
  });

  it('what may not be told any more is dropped over rounds, too', async () => {
    await addHundred();
    await database.sql`
      INSERT INTO gateway.webhook_delivery (endpoint_id, event_id, tenant, site, position, event_type, occurred_at, recorded_at, due_at)
      SELECT e.id, 'evt_' || encode(sha256(convert_to(i::text, 'UTF8')), 'hex'), 1, 1, i, 'visitor.changed', now(), now(), now()
        FROM gateway.webhook_endpoint e CROSS JOIN generate_series(1, 200) AS i`;
    await database.sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${credential}`;
    const eventKey = await openLedgerKey(database.db)();
    const first = await claimDeliveries(database.db, { eventKey, seats: 512, schedule: SCHEDULE, mcp: true });
    let left = await queued(database);
    expect(left).toBeLessThan(20_000);
    expect(left).toBeGreaterThan(0);
    expect(first).toMatchObject({ claims: [], more: true });
    while (left > 0) {
      const before = left;
      expect(await claim()).toEqual([]);
      left = await queued(database);
      expect(left).toBeLessThan(before);
    }
  });

  it('a thousand receipts of a held family leave the others their place', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await hold();
    await tell(database, 1_200);
    await tell(database, 5, 'conversation.changed');
    start();
    await until(async () => (await states(id)).filter((state) => state === 'delivered').length === 5);
    expect(await queued(database)).toBe(1_200);
  });

  it('new receipts wait for no old retries', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await tell(database, 1_100);
    for (let n = 0; n < 6; n++) await claim(1);
    await database.sql`
      UPDATE gateway.webhook_delivery SET attempts = 1, due_at = now() + interval '600 seconds', lease_until = NULL WHERE endpoint_id = ${id}`;
    await tell(database, 5);
    start();
    await until(() => receiver.got.length === 5);
    expect(receiver.got.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1]);
  });

  it('nor for a replay', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    const since = new Date(Date.now() - 1_000);
    await tell(database, 1_500);
    expect(await replay(id, { since, until: null })).toMatchObject({ refused: null });
    const before = await queued(database);
    expect(before).toBeGreaterThan(1_200);
    // The replay has already queued some of the receipts. The queue must skip these receipts and then queue the new
    // receipts.
    await tell(database, 5, 'conversation.changed');
    for (let n = 0; n < 12; n++) await claim(1);
    expect(await queued(database)).toBe(before + 5);
  });

  it('forty receivers that hang leave seats for a good one', async () => {
    const hanging = await openReceiver(() => undefined);
    try {
      for (let n = 0; n < 40; n++) await addEndpoint(database, credential, hanging.url);
      await addEndpoint(database, credential, receiver.url, { site: '2' });
      running = run(database, [receiver, hanging], { sending: { deadline: 8_000 } });
      await tell(database, 20);
      await until(() => hanging.got.length >= 384);
      for (let n = 1; n <= 5; n++) {
        await tell(database, 1, 'visitor.changed', '2');
        await until(() => receiver.got.length === n, 2_000);
      }
    } finally {
      await running?.stop();
      await hanging.close();
    }
  });

  it('what is forgotten is forgotten in one statement a round', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await database.sql`
      INSERT INTO gateway.webhook_delivery
        (endpoint_id, event_id, tenant, site, position, event_type, occurred_at, recorded_at, due_at, status, ended_at)
      SELECT ${id}, 'evt_' || encode(sha256(convert_to(i::text, 'UTF8')), 'hex'), 1, 1, i, 'visitor.changed', now(), now(), now(),
             'delivered', now() - interval '8 days' FROM generate_series(1, 2500) AS i`;
    const said: string[] = [];
    const db: Database = {
      ...database.db,
      query: (statement) => {
        const { text } = compile(statement);
        said.push(text.includes('claim_deliveries') ? 'claim' : text.includes('purged') ? 'purge' : 'other');
        return database.db.query(statement);
      },
    };
    let ahead = 0;
    const real = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + ahead);
    try {
      start({ db });
      ahead = 61_000;
      await until(() => said.filter((one) => one === 'purge').length >= 3, 80_000);
    } finally {
      clock.mockRestore();
    }
    expect(said.join(' ')).not.toContain('purge purge');
    await until(async () => (await states(id)).length === 0);
  });
});

describe('locks', () => {
  it('an endpoint that somebody holds keeps nobody else waiting, and its outcomes', async () => {
    const one = await addEndpoint(database, credential, receiver.url);
    const other = await addEndpoint(database, credential, receiver.url);
    await tell(database, 1);
    const claims = await claim();
    expect(claims).toHaveLength(2);
    const release = await locking(one.id);
    try {
      const results = claims.map((taken) => outcome(taken, { delivered: true, status: 200 }));
      const [held] = claims.filter(({ endpoint }) => endpoint === one.id);
      expect(await settle(...results)).toEqual({ taken: 1, later: [held?.id] });
      expect([await states(one.id), await states(other.id)]).toEqual([['pending'], ['delivered']]);
      await release();
      expect(await settle(...results)).toEqual({ taken: 1, later: [] });
      expect(await states(one.id)).toEqual(['delivered']);
      await database.sql`DELETE FROM gateway.webhook_endpoint WHERE id = ${one.id}`;
      expect(await settle(...results)).toEqual({ taken: 0, later: [] });
    } finally {
      await release();
    }
  });

  it('the dispatcher goes on at the others, and settles when it is let go', async () => {
    const one = await addEndpoint(database, credential, `${receiver.origin}/held`);
    await addEndpoint(database, credential, receiver.url, { site: '2' });
    let reply = (): void => undefined;
    receiver.reply((request, response, got) => {
      if (got.path === '/held') reply = () => answer(200)(request, response, got);
      else answer(200)(request, response, got);
    });
    start();
    await tell(database, 1);
    await until(() => receiver.got.length === 1);
    const release = await locking(one.id);
    try {
      reply();
      await pause(100);
      await tell(database, 3, 'visitor.changed', '2');
      await until(() => receiver.got.length === 4, 2_000);
      expect(await states(one.id)).toEqual(['pending']);
    } finally {
      await release();
    }
    await until(async () => (await states(one.id))[0] === 'delivered');
  });

  it('a process that stops waits a moment for who holds an endpoint', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    receiver.reply(() => undefined);
    const stopping = run(database, [receiver], { sending: { deadline: 300 }, schedule: SCHEDULE });
    await tell(database, 1);
    await until(() => receiver.got.length === 1);
    const release = await locking(id);
    const stopped = stopping.stop();
    await pause(500);
    await release();
    await stopped;
    expect(await log(database, id)).toMatchObject([{ status: 'pending', error: 'timeout' }]);
    expect(stopping.errors).toEqual([]);
  });

  it('deliveries are claimed also where outcomes cannot be written down', async () => {
    const one = await addEndpoint(database, credential, receiver.url);
    await tell(database, 2);
    let failing = true;
    const db: Database = {
      ...database.db,
      query: (statement) =>
        compile(statement).text.includes('settle_webhooks') && failing
          ? Promise.reject(new Error('planted'))
          : database.db.query(statement),
    };
    const here = run(database, [receiver], { db });
    await until(() => receiver.got.length === 2);
    await tell(database, 1);
    await until(() => receiver.got.length === 3);
    failing = false;
    await until(async () => (await states(one.id)).every((state) => state === 'delivered'));
    await here.stop();
    expect(new Set(here.errors.map(String))).toEqual(new Set(['Error: planted']));
    expect(receiver.got).toHaveLength(3);
  });

  it('a replay looks for its receipt before it holds the endpoint', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url, { site: '2' });
    // PostgreSQL can choose to read the whole journal, for example when the journal looks small. This journal starts
    // with receipts of another website. The replay must still compute event ids only for its own website.
    await tell(database, 500);
    await tell(database, 10, 'visitor.changed', '2');
    await database.sql`ALTER FUNCTION gateway.replay_webhooks SET enable_indexscan = off SET enable_bitmapscan = off`;
    const [{ position } = {}] =
      await database.sql`SELECT position FROM gateway.journal_head WHERE (tenant, site) = (1, 2)`;
    const event = eventId(await openLedgerKey(database.db)(), 'web_1_2', Number(position));
    const slowly = replaced(
      'gateway.event_id',
      (now) => now.replace('SELECT ', "SELECT CASE WHEN pg_sleep(0.04)::text = '' THEN '' END || "),
      async () => {
        const done = replay(id, { event });
        await pause(400);
        const free =
          await database.sql`SELECT FROM gateway.webhook_endpoint WHERE id = ${id} FOR NO KEY UPDATE SKIP LOCKED`;
        expect(free).toHaveLength(1);
        expect(await done).toMatchObject({ found: 1, queued: 1 });
      },
    );
    await slowly.finally(() => database.sql`ALTER FUNCTION gateway.replay_webhooks RESET ALL`);
  });

  it('an update that waited for a round drops what that has queued', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await tell(database, 3);
    const release = await locking(id, async (sql) => {
      await sql`SELECT gateway.queue_webhooks(e, ''::bytea, ''::bytea, '0'::interval, 200) FROM gateway.webhook_endpoint e WHERE id = ${id}`;
    });
    const updating = updateEndpoint(database.db, id, { site: { tenant: '1', site: '2' } });
    await pause(200);
    await release();
    expect(await updating).toMatchObject({ website_id: 'web_1_2', pending: 0, gap_since: expect.any(Date) });
    expect(await states(id)).toEqual(['dropped', 'dropped', 'dropped']);
    expect(await gapOf(id)).toBeLessThanOrEqual(await recordedFirst(id));
  });

  it('a delivery of another website than the endpoint’s is not claimed', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await tell(database, 1);
    await claim(1, [600]);
    await database.sql`UPDATE gateway.webhook_delivery SET due_at = now(), site = 2 WHERE endpoint_id = ${id}`;
    expect(await queued(database)).toBe(1);
    expect(await claim()).toEqual([]);
  });

  it('a test waits for who holds the endpoint', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    const release = await locking(id, (sql) => sql`SELECT gateway.disable_webhook(${id}, 'owner')`);
    const testing = claimTest(database.db, id, `evt_${'1'.repeat(64)}`);
    await pause(200);
    await release();
    expect(await testing).toBeUndefined();
    expect(await states(id)).toEqual([]);
  });
});

describe('a gap begins with the first receipt that is lost', () => {
  it('when an endpoint is disabled: what waits, and what is in the journal only', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await tell(database, 2);
    await claim(1, [600]);
    await pause(20);
    expect(await updateEndpoint(database.db, id, { enabled: false })).toMatchObject({ enabled: false, pending: 0 });
    expect(await gapOf(id)).toBe(await recordedFirst(id));
    const other = await addEndpoint(database, credential, receiver.url);
    await tell(database, 1);
    const [told] = await database.sql`SELECT max(recorded_at) AS at FROM gateway.journal WHERE (tenant, site) = (1, 1)`;
    await pause(20);
    await updateEndpoint(database.db, other.id, { enabled: false });
    expect(await gapOf(other.id)).toBe(Number(told?.['at']));
    const [before, quiet] = [Date.now(), await addEndpoint(database, credential, receiver.url)];
    await updateEndpoint(database.db, quiet.id, { enabled: false });
    expect(await gapOf(quiet.id)).toBeGreaterThanOrEqual(before);
  });

  it('when the last attempt’s process is lost', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await tell(database, 1);
    await claim(512, [0]);
    await pause(20);
    await database.sql`UPDATE gateway.webhook_delivery SET due_at = now(), lease_until = now() WHERE endpoint_id = ${id}`;
    expect(await claim(512, [0])).toEqual([]);
    expect(await log(database, id)).toMatchObject([{ status: 'failed', error: 'interrupted' }]);
    expect(await gapOf(id)).toBe(await recordedFirst(id));
  });

  it('when retention was faster, also while receipts were queued', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await tell(database, 3);
    await database.sql.unsafe(`
      CREATE FUNCTION gateway.planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        UPDATE gateway.journal_head SET trimmed = position WHERE (tenant, site) = (1, 1); RETURN NULL; END $$;
      CREATE TRIGGER planted AFTER INSERT ON gateway.webhook_delivery FOR EACH STATEMENT EXECUTE FUNCTION gateway.planted()`);
    try {
      await claim();
      expect(await gapOf(id)).toBe(Number((await row(id))['created_at']));
    } finally {
      await database.sql.unsafe('DROP FUNCTION gateway.planted() CASCADE');
      await database.sql`UPDATE gateway.journal_head SET trimmed = 0 WHERE (tenant, site) = (1, 1)`;
    }
  });

  it('a test whose command has died is none; it is ended, and attempted by nobody', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    expect(await claimTest(database.db, id, `evt_${'2'.repeat(64)}`)).toMatchObject({ test: true });
    await database.sql`UPDATE gateway.webhook_delivery SET due_at = now(), lease_until = now() WHERE endpoint_id = ${id}`;
    expect(await claim()).toEqual([]);
    expect(await log(database, id)).toMatchObject([{ status: 'failed', error: 'interrupted', attempts: 1 }]);
    expect(await row(id)).toMatchObject({ gap_since: null });
  });

  it('who was told of it was not told of what is lost after that', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    const since = new Date(Date.now() - 60_000);
    await database.sql`SELECT gateway.lose_webhooks(${id}, ${since})`;
    await tell(database, 1);
    const under = await claimOne();
    expect(under.gapSince).toBe(since.getTime());
    await database.sql`SELECT gateway.lose_webhooks(${id}, now())`;
    await settle(outcome(under, { delivered: true, status: 200 }));
    expect(await gapOf(id)).toBe(since.getTime());
    await tell(database, 1);
    await settle(outcome(await claimOne(), { delivered: true, status: 200 }));
    expect(await row(id)).toMatchObject({ gap_since: null });
  });
});

describe('attempts', () => {
  it('a late outcome of another address says nothing of the endpoint', async () => {
    const { id } = await addEndpoint(database, credential, `${receiver.origin}/before`);
    await tell(database, 2);
    const [first, second] = await claim();
    if (!first || !second) throw new Error('there is nothing to attempt');
    await settle(outcome(first, { wait: 600 }));
    expect((await row(id))['failing_since']).toBeInstanceOf(Date);
    expect(await updateEndpoint(database.db, id, { url: receiver.url })).toMatchObject({ failing_since: null });
    await settle(outcome(second, { gone: true, status: 410 }));
    expect(await row(id)).toMatchObject({ enabled: true, failing_since: null });
    // Both deliveries are due at the same time, so their order is not defined.
    expect((await states(id)).sort()).toEqual(['failed', 'pending']);
  });

  it('claims that were answered too late are given back, and have used up nothing', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    let slow = 1;
    const db: Database = {
      ...database.db,
      query: async (statement) => {
        const rows = await database.db.query<never>(statement);
        if (compile(statement).text.includes('claim_deliveries') && JSON.stringify(rows).includes('evt_') && slow-- > 0)
          await pause(1_200);
        return rows;
      },
    };
    await tell(database, 1);
    start({ db, schedule: [0] });
    await until(() => receiver.got.length === 1, 4_000);
    expect(receiver.got[0]).toMatchObject({ attempt: 1 });
    await until(async () => (await states(id))[0] === 'delivered');
    const [one] = await readDeliveries(database.db, id, undefined, 1);
    expect(one).toMatchObject({ attempts: 1 });
    expect(await log(database, id)).toMatchObject([{ attempts: 2 }]);
  });

  it('WH-10 claims that grew old within a round are given back, too', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    const after = (text: string) =>
      text.replace('claims := array_to_json', 'PERFORM pg_sleep(1.2);\n  claims := array_to_json');
    await tell(database, 1);
    await replaced('gateway.claim_deliveries', after, async () => {
      start({ schedule: [0] });
      await until(async () => Number((await log(database, id))[0]?.attempts) >= 2, 10_000);
      expect(receiver.got).toEqual([]);
    });
    await until(() => receiver.got.length === 1);
    const [one] = await readDeliveries(database.db, id, undefined, 1);
    expect(one).toMatchObject({ attempts: 1 });
  });

  it('what is given back twice, or after another has begun, is given back once', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await tell(database, 1);
    const first = outcome(await claimOne(), { unused: true, wait: 0, status: null });
    expect(await settle(first)).toMatchObject({ taken: 1 });
    expect(await settle(first)).toMatchObject({ taken: 0 });
    expect(await claimOne()).toMatchObject({ attempt: 2, number: 1 });
    expect(await settle(first)).toMatchObject({ taken: 0 });
    expect(await row(id)).toMatchObject({ failing_since: null });
  });

  it('a failure counts as three days of it where another has failed within one', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await tell(database, 1);
    await settle(outcome(await claimOne(), { wait: 0 }));
    await database.sql`UPDATE gateway.webhook_endpoint SET failing_since = now() - interval '3 days', failed_at = now() - interval '2 days'`;
    await settle(outcome(await claimOne(), { wait: 0 }));
    expect(await row(id)).toMatchObject({ enabled: true });
    await settle(outcome(await claimOne(), { wait: 0 }));
    expect(await row(id)).toMatchObject({ enabled: false, disabled_because: 'failing' });
  });

  it('one that was dropped while it was under way is not begun again beside it', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await tell(database, 1);
    const under = await claimOne();
    await updateEndpoint(database.db, id, { enabled: false });
    await updateEndpoint(database.db, id, { enabled: true });
    expect(await replay(id, { event: under.receipt.event_id })).toMatchObject({ queued: 1 });
    expect(await claim()).toEqual([]);
    // After a replay, the attempts of a delivery count from one again. Attempts before the replay no longer count
    // towards the limit.
    expect(await settle(outcome(under, {}))).toMatchObject({ taken: 1 });
    expect(await claimOne()).toMatchObject({ attempt: 2, number: 1 });
  });

  it('what an endpoint no longer asks for is dropped, and that is no loss', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await tell(database, 2);
    await tell(database, 1, 'conversation.changed');
    await tell(database, 1, 'operator.changed');
    expect(await claim(0)).toEqual([]);
    // A receipt that somebody replays by its id goes out although the endpoint never asked for its type.
    const [last] =
      await database.sql`SELECT max(position) AS position FROM gateway.journal WHERE (tenant, site) = (1, 1)`;
    const event = eventId(await openLedgerKey(database.db)(), 'web_1_1', Number(last?.['position']));
    expect(await replay(id, { event })).toMatchObject({ queued: 1 });
    expect(await updateEndpoint(database.db, id, { eventTypes: ['conversation.*'] })).toMatchObject({
      gap_since: null,
    });
    expect(await states(id)).toEqual(['dropped', 'dropped', 'pending', 'pending']);
    start();
    await until(() => receiver.got.length === 2);
    expect(await row(id)).toMatchObject({ gap_since: null });
  });

  it('doctor finds a lost delivery, but not one whose family is held', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await tell(database, 1);
    await claim();
    await database.sql`UPDATE gateway.webhook_delivery SET lease_until = now() - interval '1 hour' WHERE endpoint_id = ${id}`;
    expect(await lapsedDeliveries(database.db)).toBe(1);
    await hold();
    expect(await lapsedDeliveries(database.db)).toBe(0);
  });
});

it('a rotation within an overlap is refused, so that no secret ends before its time; without an overlap both end', async () => {
  const { id, secret } = await addEndpoint(database, credential, receiver.url);
  const secrets = [secret, newWebhookSecret(), newWebhookSecret()];
  const [, second = '', third = ''] = secrets;
  expect(await rotateEndpoint(database.db, id, KEYS.seal('webhook secret', second), 3600)).toBeDefined();
  expect(await rotateEndpoint(database.db, id, KEYS.seal('webhook secret', third), 3600)).toBeUndefined();
  start();
  const signing = async (): Promise<boolean[]> => {
    const n = receiver.got.length;
    await tell(database, 1);
    await until(() => receiver.got.length > n);
    const got = receiver.got.at(-1);
    return secrets.map((one) => got !== undefined && verified(one, got));
  };
  expect(await signing()).toEqual([true, true, false]);
  expect(await rotateEndpoint(database.db, id, KEYS.seal('webhook secret', third), 0)).toBeDefined();
  expect(await signing()).toEqual([false, false, true]);
});
