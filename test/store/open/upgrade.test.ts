import { afterAll, beforeAll, expect, it } from 'vitest';
import { unrecordedWrites } from '../../../src/store/audit/verify.ts';
import { readCellFacts } from '../../../src/store/cells/facts.ts';
import { migrate } from '../../../src/store/open/migrate.ts';
import { openCalls } from '../../bench/world.ts';
import { issue } from '../../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { olderDatabase } from '../../support/older.ts';
import { dumpSchema } from '../../support/schema.ts';

/** The version of the schema whose processes serve beside those of this version. Later migrations have not landed. */
const LANDED = 51;
const STATES = ['submitted', 'working', 'input_required', 'completed', 'failed', 'canceled'] as const;

let database: TestDatabase;
beforeAll(async () => {
  database = await olderDatabase(LANDED);
});
afterAll(() => database.close());

/** Stores rows as a process of the older version does: it names the columns that it knows. Returns a token. */
async function fill(n: number): Promise<string> {
  const { sql } = database;
  const at = '2026-01-01T00:00:00Z';
  await sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (${n}, ${`o${n}`}, 'Org')`;
  await sql`INSERT INTO platform.website (tenant, site, external_id, name, time_zone) VALUES (${n}, 1, 'w', 'Site', 'UTC')`;
  await sql`INSERT INTO platform.contact (tenant, site, id, external_id, name, created_at) VALUES (${n}, 1, 1, 'c', 'Ada', ${at})`;
  await sql`INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) VALUES (${n}, 1, 1, 'v', ${at})`;
  await sql`INSERT INTO platform.conversation (tenant, site, id, external_id, visitor_id, status, platform, subject, created_at, updated_at)
    VALUES (${n}, 1, 1, 'k', 1, 'closed', 'chat', 'A refund', ${at}, ${at})`;
  await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, author_id, visibility, kind, text, created_at)
    VALUES (${n}, 1, 1, 'm', 1, 'visitor', 1, 'public', 'text', 'Where is my refund', ${at})`;
  const { token, credential, installation } = await issue(sql, n);
  for (const [i, state] of STATES.entries()) {
    const digest = Buffer.alloc(32, 10 * n + i);
    const leased = state === 'submitted' || state === 'working';
    await sql`INSERT INTO gateway.task (id, installation_id, credential_id, message, fingerprint, grants, context_id, skill, state, state_at,
        failure, artifact, owner, lost_as, lease_until, created_at, expires_at)
      VALUES (${`task_${digest.toString('hex').slice(0, 32)}`}, ${installation}, ${credential}, ${digest}, ${digest}, ${digest}, 'ctx_1',
        'contact_inspection', ${state}, now(), ${state === 'failed' ? 'interrupted' : null}, ${state === 'completed' ? sql.json({}) : null},
        'process', 'interrupted', ${leased ? at : null}, now(), now() + interval '15 minutes')`;
  }
  await sql`INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint, outcome)
    VALUES (${`op_${String(n).padStart(64, '0')}`}, ${credential}, 1, ${n}, 1, 'visitor_note_add', 'acknowledged', ${Buffer.alloc(32, n)}, '{}')`;
  return token;
}

/** What the statements of an older process rely on: functions with their arguments and results, and columns with their types. */
async function known(): Promise<Set<string>> {
  const rows = await database.sql<{ what: string }[]>`
    SELECT p.oid::regprocedure || ' (' || coalesce(array_to_string(p.proargnames, ','), '') || ') ' || pg_get_function_result(p.oid) AS what
      FROM pg_proc p WHERE p.pronamespace IN ('gateway'::regnamespace, 'platform'::regnamespace) AND p.prorettype <> 'trigger'::regtype
     UNION ALL
    SELECT a.attrelid::regclass || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE c.relnamespace IN ('gateway'::regnamespace, 'platform'::regnamespace) AND c.relkind IN ('r', 'p', 'v', 'c')
       AND a.attnum > 0 AND NOT a.attisdropped`;
  return new Set(rows.map(({ what }) => what));
}

it('a filled store takes all later migrations, and processes of the older version go on beside the newer ones', async () => {
  const { db, sql } = database;
  const token = await fill(1);
  const before = await known();
  expect(before.size).toBeGreaterThan(500);
  // Two restores of an older version, a note, and a third one.
  await sql`INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) VALUES (1, 1, 9, 'v9', now())`;
  await sql`INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at)
            VALUES (1, 1, 2000005001, 'n', 9, 'Far', now())`;
  await sql`INSERT INTO platform.native_id AS n (tenant, site, kind, last) VALUES (1, 1, 'note', 3000005001), (1, 2, 'note', 3000005001),
                   (1, 1, 'message', 3000005001) ON CONFLICT (tenant, site, kind) DO UPDATE SET last = excluded.last`;
  const { applied, version } = await migrate(db);
  expect(
    await sql`SELECT site::text, kind, last::text FROM platform.native_id WHERE tenant = 1 AND last > 1e8 ORDER BY kind, site`,
  ).toEqual([
    { site: '1', kind: 'message', last: '3000005001' },
    { site: '1', kind: 'note', last: '2009222416' },
    { site: '2', kind: 'note', last: '134217727' },
  ]);
  expect(applied).toHaveLength(version - LANDED);
  const after = await known();
  expect([...before].filter((one) => !after.has(one))).toEqual([]);
  // An older process stores the same rows as before.
  const beside = await fill(2);
  for (const [n, bearer] of [token, beside].entries()) {
    const call = await openCalls(db, bearer);
    expect((await call('contact_get', { contact_id: `ctc_${n + 1}_1_1` })).data.contact).toMatchObject({ name: 'Ada' });
    expect((await call('search', { query: 'refund', author: 'visitor' })).results).toHaveLength(1);
  }
  const tasks = await sql`SELECT state, count(*)::integer AS n FROM gateway.task GROUP BY 1`;
  expect(tasks.map(({ state, n }) => `${state} ${n}`).sort()).toEqual(STATES.map((state) => `${state} 2`).sort());
});

it('a store of the 50 migrations before the schema’s files goes on, and is then equal to a new one', async () => {
  const [old, fresh] = [await olderDatabase(50), await freshDatabase()];
  // What such a store has more: its records, and functions for processes that no store has to serve any more.
  await old.sql`INSERT INTO public.gateway_migration (version, name) SELECT n, 'of ' || n FROM generate_series(1, 49) n`;
  await old.sql`CREATE FUNCTION gateway.claim_webhooks(a integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'`;
  await old.sql`CREATE FUNCTION platform.search(a integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'`;
  expect((await migrate(old.db)).applied).not.toContain('0050_webhook_rounds.sql');
  expect(await dumpSchema(old.sql)).toBe(await dumpSchema(fresh.sql));
  const schemas = [await readCellFacts(old.db), await readCellFacts(fresh.db)].map(({ schema }) => schema);
  expect(schemas[0]).toBe(schemas[1]);
  // Both judge the writes since they have audit records.
  for (const { db, sql } of [old, fresh]) {
    await sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (1, 'o', 'Org')`;
    const { credential } = await issue(sql, 1);
    await sql`UPDATE public.gateway_migration
      SET applied_at = now() - make_interval(days => CASE WHEN version < 28 THEN 9 ELSE 1 END)`;
    for (const [n, days] of [1, 2].entries())
      await sql`INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, created_at)
        VALUES (${`op_${String(n).padStart(64, '0')}`}, ${credential}, 1, 1, 1, 'visitor_note_add', 'acknowledged',
                now() - make_interval(days => ${days}) + interval '1 hour')`;
    expect(await unrecordedWrites(db, { from: '2020-01-01', to: '2100-01-01' }, 10)).toHaveLength(1);
  }
  await Promise.all([old.close(), fresh.close()]);
});
