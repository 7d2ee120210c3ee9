import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { Trail, type TrailOptions } from '../../src/audit/trail.ts';
import type { CallReport } from '../../src/core/audit.ts';
import { StoreUnreachable } from '../../src/store/driver/errors.ts';
import type { Database } from '../../src/store/driver/postgres.ts';
import { auditOf, forgetAudit } from '../support/audit.ts';
import type { Issued } from '../support/credentials.ts';
import { addressOf } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { itOnce as it, itInFull } from '../support/form.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { KEYS } from '../support/keys.ts';
import { type Replica, startReplica } from '../support/replica.ts';
import { type Example, examples, freshKey, writer } from '../support/surfaces/wire.ts';

/** E6: what becomes of audit records while PostgreSQL does not take them, and when a process ends. */
let gateway: TestGateway;
let own: Issued;
let organization: string;
let note: Example;

beforeAll(async () => {
  gateway = await openTestGateway('demo', undefined, KEYS, {}, undefined, undefined, true);
  own = await writer(gateway);
  note = (await examples(gateway)).find(({ tool }) => tool.name === 'visitor_note_add') ?? expect.fail();
  const [row] = await gateway.database.sql<
    { public_id: string }[]
  >`SELECT public_id FROM platform.organization WHERE tenant = 1`;
  organization = row?.public_id ?? '';
});
afterEach(() => forgetAudit(gateway.database));
afterAll(() => gateway.close());

const health = () => gateway.ask('/api/v1/health?website_id=web_1_1', { token: own.token });
const componentOf = async (): Promise<unknown> =>
  (await health()).body.data.components.find(({ name }: { name: string }) => name === 'audit');
const report = (organizationId: string, operation: string): CallReport => ({
  ...{ actor: { organizationId }, operation, targets: [], outcome: 'ok', status: 200, units: 1 },
});
const ORIGIN = { requestId: '', surface: 'mcp', from: '' } as const; // a literal type
const count = async (where: Readonly<Record<string, unknown>>): Promise<number> =>
  (await auditOf(gateway.database, where)).length;

function trailOf(db: Database, more: Partial<TrailOptions> = {}): Trail {
  const upkeep = gateway.database.db;
  return new Trail({ db, upkeep, keys: KEYS, fullAddresses: false, days: 90, onError: () => undefined, ...more });
}

describe('while the table cannot be written', () => {
  it('reads go on, the queue takes half for one organization, and the rest is counted, told and recorded', async () => {
    const { sql } = gateway.database;
    const trail = gateway.trail ?? expect.fail();
    await sql`ALTER TABLE gateway.audit RENAME TO audit_away`;
    try {
      for (let i = 0; i < 5_500; i++) trail.add(ORIGIN, report(organization, 'flood'), 1);
      for (let i = 0; i < 10; i++) trail.add(ORIGIN, report('org_other', 'quiet'), 1);
      expect([trail.lostTotal, trail.lost(organization), trail.lost('org_other')]).toEqual([500, 500, 0]);
      const answer = await health();
      expect(answer.status).toBe(200);
      expect(await componentOf()).toMatchObject({ status: 'degraded', reason: '501 audit records are lost.' });
      expect(answer.body.data.status).toBe('degraded');
      expect(trail.queued).toBe(5_010);
    } finally {
      await sql`ALTER TABLE gateway.audit_away RENAME TO audit`;
    }
    await eventually(async () => expect(await count({ operation: 'lost' })).toBe(2));
    expect(await auditOf(gateway.database, { operation: 'lost' })).toMatchObject([
      { count: expect.any(Number), organization_id: organization, outcome: 'service_unavailable', status: 503 },
      { organization_id: organization },
    ]);
    expect([await count({ operation: 'flood' }), await count({ operation: 'quiet' })]).toEqual([5_000, 10]);
    expect(await componentOf()).toMatchObject({ status: 'ready' });
    expect(trail.lostTotal).toBeGreaterThanOrEqual(502);
  });

  it('what waits during a silence of PostgreSQL comes once, and keeps its order in the chain', async () => {
    const { sql } = gateway.database;
    await sql.begin(async (lock) => {
      await lock`LOCK TABLE gateway.audit_chain IN ACCESS EXCLUSIVE MODE`;
      for (let i = 0; i < 30; i++) {
        const { status } = await gateway.ask('/api/v1/contacts?website_id=web_1_1&limit=1', { token: own.token });
        expect(status).toBe(200);
        await pause(200);
      }
    });
    await eventually(async () => expect(await count({ operation: 'contacts_list' })).toBe(30));
    await pause(500);
    const all = await auditOf(gateway.database, { operation: 'contacts_list' });
    const seqs = all.map(({ seq }) => Number(seq));
    expect(new Set(seqs).size).toBe(30);
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
  });
});

it('a process that ends appends its last records, and then waits for upkeep', async () => {
  const { db } = gateway.database;
  let asked = false;
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow: Database = {
    ...db,
    query: async (statement) => {
      asked = true;
      await held;
      return db.query(statement);
    },
  };
  const trail = trailOf(db, { upkeep: slow });
  await trail.start();
  await eventually(() => expect(asked).toBe(true));
  trail.add(ORIGIN, report('org_ends', 'last'), 1);
  const ended = trail.stop();
  await eventually(async () => expect(await count({ operation: 'last' })).toBe(1));
  release();
  await ended;
});

describe('a statement whose reply is lost', () => {
  it('is repeated, and no record is doubled', async () => {
    const { db } = gateway.database;
    let lost = 0;
    const losing: Database = {
      ...db,
      query: async <Row extends object>(statement: Parameters<Database['query']>[0]): Promise<Row[]> => {
        const rows = await db.query<Row>(statement);
        if (statement.texts.join('').includes('append_audit') && lost++ < 2) throw new StoreUnreachable('lost');
        return rows;
      },
    };
    const trail = trailOf(losing);
    await trail.start();
    for (let i = 0; i < 20; i++) trail.add(ORIGIN, report('org_lost', 'reply'), 1);
    await eventually(async () => expect(await count({ operation: 'reply' })).toBe(20));
    trail.add(ORIGIN, report('org_lost', 'after'), 1);
    await eventually(async () => expect(await count({ operation: 'after' })).toBe(1));
    await trail.stop();
    expect(lost).toBeGreaterThanOrEqual(3);
    expect(await count({ operation: 'reply' })).toBe(20);
    const all = await auditOf(gateway.database, { organization_id: 'org_lost' });
    expect(all.map(({ seq }) => Number(seq)).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 21 }, (_, i) => i + 1),
    );
  });

  it.each([
    ['has a zero byte', { operation: 'a\u0000b' }],
    ['is too long for an index', { targets: [randomBytes(9_000).toString('base64')] }],
  ])('a record that %s is lost alone, and stops no other', async (_name, bad) => {
    const trail = trailOf(gateway.database.db);
    await trail.start();
    for (let i = 0; i < 50; i++) trail.add(ORIGIN, { ...report('org_bad', 'good'), ...(i === 20 ? bad : {}) }, 1);
    await eventually(async () => expect(await count({ organization_id: 'org_bad' })).toBe(50));
    await trail.stop();
    expect(trail.lostTotal).toBe(1);
    expect(await count({ organization_id: 'org_bad', operation: 'lost' })).toBe(1);
    expect(await count({ organization_id: 'org_bad', operation: 'good' })).toBe(49);
  });

  it('a record that cannot be sealed stops no other seal, and is told once', async () => {
    const { sql } = gateway.database;
    const told: unknown[] = [];
    const trail = trailOf(gateway.database.db, { onError: (error) => told.push(error) });
    await trail.start();
    await sql`ALTER TABLE gateway.audit ADD CONSTRAINT bad CHECK (operation <> 'bad' OR seq IS NULL) NOT VALID`;
    try {
      const ids = await sql<{ id: string }[]>`
        INSERT INTO gateway.audit (time, organization_id, surface, operation, outcome, status, units, duration_ms)
        SELECT date_trunc('second', now()), 'org_seal', 'cli', CASE n WHEN 3 THEN 'bad' ELSE 'good' END, 'ok', 200, 0, 1
          FROM generate_series(1, 9) n RETURNING id`;
      for (const { id } of ids) trail.add(ORIGIN, { ...report('org_seal', 'x'), inserted: id }, 1);
      trail.add(ORIGIN, report('org_seal', 'call'), 1);
      await eventually(async () => {
        const [row] = await sql`SELECT count(seq)::integer AS n FROM gateway.audit WHERE organization_id = 'org_seal'`;
        expect(row).toEqual({ n: 9 });
      });
      await pause(500);
      expect(told).toHaveLength(1);
    } finally {
      await trail.stop();
      await sql`ALTER TABLE gateway.audit DROP CONSTRAINT bad`;
    }
  });

  it.each([
    ['is gone', 0],
    ['is an earlier one, as after a failover', 1],
  ])('a chain whose head %s ends, another one begins, and what is lost is told and counted', async (_name, left) => {
    const { sql } = gateway.database;
    const told: unknown[] = [];
    const trail = trailOf(gateway.database.db, { onError: (error) => told.push(String(error)) });
    await trail.start();
    for (let n = 0; n < 3; n++) trail.add(ORIGIN, report('org_head', 'before'), 1);
    await eventually(async () => expect(await count({ operation: 'before' })).toBe(3));
    const [{ writer: chain } = {}] = await auditOf(gateway.database, { operation: 'before' });
    await sql`UPDATE gateway.audit_chain SET seq = ${left} WHERE writer = ${String(chain)}`;
    await sql`DELETE FROM gateway.audit_chain WHERE seq = 0`;
    trail.add(ORIGIN, report('org_head', 'after'), 1);
    await eventually(async () => expect(await count({ operation: 'after' })).toBe(1));
    await trail.stop();
    expect(await auditOf(gateway.database, { operation: 'after' })).toMatchObject([{ seq: '1' }]);
    const ends = `ends with record ${left} in PostgreSQL, but this process had appended record 3`;
    expect(told).toEqual([expect.stringMatching(`the audit chain ${chain} of [0-9-]{10} ${ends}`)]);
    expect(trail.lostTotal).toBe(3 - left);
  });

  it('a member with quotes, backslashes and commas is kept as it is', async () => {
    const trail = trailOf(gateway.database.db);
    await trail.start();
    const name = `a "b" \\ (c), {d} 'e' é \u{1f600}`;
    trail.add(
      { ...ORIGIN, client: { name, version: '"' } },
      { ...report('org_odd', 'odd'), targets: ['x"y\\z', 'w,v'] },
      1,
    );
    await trail.stop();
    expect(await auditOf(gateway.database, { organization_id: 'org_odd' })).toMatchObject([
      { client_name: name, client_version: '"', targets: ['x"y\\z', 'w,v'] },
    ]);
  });
});

describe('days', () => {
  /** Sums that nobody sums again. */
  const oldSums = (...hours: readonly string[]) =>
    gateway.database.sql.begin(async (own) => {
      await own`SET LOCAL session_replication_role = replica`;
      for (const hour of hours)
        await own`INSERT INTO gateway.audit_hour VALUES ('org_old', ${hour}, '', 'cli', 'old', 'ok', 1, 1, '{1}')`;
    });

  it('partitions are there ahead, old ones go as a whole, and a day without one gets it', async () => {
    const { sql } = gateway.database;
    const partitions = async (): Promise<string[]> =>
      (
        await sql<{ name: string }[]>`SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'gateway.audit'::regclass ORDER BY 1`
      ).map(({ name }) => name);
    expect(await partitions()).toHaveLength(9);
    await sql`SELECT gateway.prepare_audit_day('2020-01-01'), gateway.prepare_audit_day('2020-01-02')`;
    await sql`INSERT INTO gateway.audit_chain VALUES (gen_random_uuid(), '2020-01-01', 1, 'k', decode(repeat('00', 32), 'hex'))`;
    // After days without records the clock may be wrong, so nothing is dropped. Otherwise one call drops one day.
    const heads = await sql`DELETE FROM gateway.audit_chain WHERE day > '2021-01-01' RETURNING *`;
    const drop = async () => (await sql<{ n: number }[]>`SELECT gateway.drop_audit(90) AS n`)[0]?.n;
    expect(await drop()).toBe(0);
    for (const head of heads) await sql`INSERT INTO gateway.audit_chain ${sql(head)}`;
    const clear = async () => (await sql<{ n: number }[]>`SELECT gateway.clear_audit(90, 1) AS n`)[0]?.n;
    await oldSums('2020-01-01T05:00Z', '2020-01-02T05:00Z');
    expect([await clear(), await drop(), await drop(), await drop()]).toEqual([0, 1, 1, 0]);
    expect(await partitions()).toHaveLength(9);
    expect([await clear(), await clear(), await clear()]).toEqual([1, 1, 0]);
    expect([...(await sql`SELECT FROM gateway.audit_chain WHERE day = '2020-01-01'`)]).toEqual([]);
    // As after a day in which no process ran, or when the clock was set.
    for (const name of await partitions()) await sql.unsafe(`DROP TABLE gateway.${name}`);
    const headers = { 'idempotency-key': freshKey() };
    const wrote = await gateway.ask(note.url, { token: own.token, body: { text: 'a note' }, headers });
    expect(wrote.status).toBe(200);
    await eventually(async () => expect(await count({ operation: 'visitor_note_add' })).toBe(1));
  });

  it('a table with the name of a day counts only as a partition', async () => {
    const { sql } = gateway.database;
    await sql`CREATE TABLE gateway.audit_20400102 (LIKE gateway.audit)`;
    await expect(sql`SELECT gateway.prepare_audit_day('2040-01-02')`).rejects.toThrow('already exists');
    await sql`DROP TABLE gateway.audit_20400102`;
  });

  it('two processes can prepare a day at once', async () => {
    const { sql } = gateway.database;
    const prepare = (on: typeof sql | postgres.TransactionSql) => on`SELECT gateway.prepare_audit_day('2040-01-01')`;
    let second: Promise<unknown> | undefined;
    await sql.begin(async (first) => {
      await prepare(first);
      second = prepare(sql).then((rows) => rows.length);
      await pause(300);
    });
    expect(await second).toBe(1);
    await sql`DROP TABLE gateway.audit_20400101`;
  });

  it('no write waits while the sums of a dropped day are deleted', async () => {
    const { sql, db } = gateway.database;
    await sql`SELECT gateway.prepare_audit_day('2020-01-01')`;
    await oldSums('2020-01-01T05:00Z');
    await sql.unsafe(`
      CREATE FUNCTION gateway.planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(4); RETURN OLD; END $$;
      CREATE TRIGGER planted BEFORE DELETE ON gateway.audit_hour FOR EACH ROW EXECUTE FUNCTION gateway.planted()`);
    const deleting = () =>
      sql`SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()`;
    // An attempt gives up if somebody uses the table at the moment, and a trail tries once a minute.
    await eventually(async () => {
      await sql`SELECT gateway.drop_audit(90)`;
      expect(await sql`SELECT FROM pg_class WHERE oid = to_regclass('gateway.audit_20200101')`).toHaveLength(0);
    });
    const trail = trailOf(db);
    try {
      await eventually(async () => expect(await deleting()).not.toEqual([]));
      const headers = { 'idempotency-key': freshKey() };
      const wrote = await gateway.ask(note.url, { token: own.token, body: { text: 'a note' }, headers });
      expect(wrote.status).toBe(200);
      expect(await deleting()).not.toEqual([]);
      await eventually(async () =>
        expect([...(await sql`SELECT FROM gateway.audit_hour WHERE hour < '2021-01-01'`)]).toEqual([]),
      );
    } finally {
      await trail.stop();
      await sql.unsafe('DROP FUNCTION gateway.planted() CASCADE');
    }
  });

  it('nobody waits for a day to be dropped, and the next round drops it', async () => {
    const { sql } = gateway.database;
    const days = () => sql`SELECT FROM pg_class WHERE oid = to_regclass('gateway.audit_20200101')`;
    await sql`SELECT gateway.prepare_audit_day('2020-01-01')`;
    expect(await days()).toHaveLength(1);
    await sql.begin(async (reader) => {
      await reader`SELECT count(*) FROM gateway.audit`;
      const took: number[] = [];
      for (let n = 0; n < 5; n++) {
        const began = performance.now();
        const [dropped] = await sql`SELECT gateway.drop_audit(90) AS n`;
        took.push(performance.now() - began);
        expect(dropped).toEqual({ n: 0 });
      }
      // Inserts wait behind an attempt for 20 ms.
      expect(Math.min(...took)).toBeLessThan(100);
    });
    // Others who use the table for a moment, such as the gateway's own flush, can make an attempt give up, too.
    await eventually(async () => {
      await sql`SELECT gateway.drop_audit(90)`;
      expect(await days()).toHaveLength(0);
    });
  });
});

describe('processes', () => {
  const started = (): Promise<Replica> =>
    startReplica({
      databaseUrl: addressOf(gateway.database),
      args: ['--no-demo'],
      env: { GATEWAY_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}` },
    });

  itInFull('SIGTERM loses no record, and kill -9 neither a record of a write nor a write of a record', async () => {
    const { sql } = gateway.database;
    const ended = await started();
    const read = (url: string) =>
      fetch(`${url}/api/v1/contacts?website_id=web_1_1&limit=1`, { headers: { authorization: `Bearer ${own.token}` } });
    for (let i = 0; i < 10; i++) expect((await read(ended.url)).status).toBe(200);
    expect((await ended.end()).code).toBe(0);
    expect(await count({ operation: 'contacts_list' })).toBe(10);

    const killed = await started();
    const write = (): Promise<unknown> =>
      fetch(`${killed.url}${note.url}`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${own.token}`, 'content-type': 'application/json' },
          'idempotency-key': freshKey(),
        },
        body: '{"text": "killed"}',
      }).catch(() => undefined);
    const writing = Array.from({ length: 8 }, async () => {
      for (let i = 0; i < 200; i++) await write();
    });
    const notes = async () => (await sql`SELECT FROM platform.note WHERE text = 'killed'`).count;
    await eventually(async () => expect(await notes()).toBeGreaterThan(5));
    await killed.kill9();
    await Promise.all(writing);
    const [row] = await sql`
      SELECT (SELECT count(*)::integer FROM platform.note WHERE text = 'killed') AS notes,
             (SELECT count(*)::integer FROM gateway.audit WHERE operation = 'visitor_note_add' AND outcome = 'ok') AS records,
             (SELECT count(*)::integer FROM gateway.operation o WHERE operation = 'visitor_note_add' AND NOT EXISTS (
                SELECT FROM gateway.audit a WHERE a.operation_id = o.operation_id)
                 AND EXISTS (SELECT FROM platform.note n WHERE n.external_id = o.operation_id AND n.text = 'killed')) AS unrecorded`;
    expect(row).toMatchObject({ unrecorded: 0 });
    expect(row?.['notes']).toBeGreaterThan(5);
    expect(row?.['records']).toBe(row?.['notes']);
    await eventually(
      async () => expect([...(await sql`SELECT FROM gateway.audit WHERE seq IS NULL`)]).toEqual([]),
      18_000,
    );
  });
});
