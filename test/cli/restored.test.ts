import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { runChecks } from '../../src/cli/doctor.ts';
import { cliDatabase, gateway as command, document } from '../support/cli.ts';
import { issue } from '../support/credentials.ts';
import type { TestDatabase } from '../support/database.ts';
import { append, create, definition, pull } from '../support/events/subscriptions.ts';
import { addEndpoint, openReceiver, run, tell, until } from '../support/events/webhooks.ts';
import { eventually } from '../support/eventually.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { startReplica } from '../support/replica.ts';

let database: TestDatabase;
let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  database = await cliDatabase('demo');
  gateway = await openTestGateway('demo', { ...database, close: async () => undefined });
  ({ token } = await gateway.issue());
});
afterEach(() => vi.unstubAllEnvs());
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
  // The test takes a backup at this point. A client reads the receipts that follow, and the restore then loses these
  // receipts.
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

  expect(await document('restored', '--yes')).toEqual({ websites: 2, consents: 0, approvals: 0 });
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
  expect(await runChecks(database.db)).toEqual([]);

  expect(await document('restored', '--yes')).toEqual({ websites: 2, consents: 0, approvals: 0 });
  expect((await pull(gateway, token, anew.id, after.body.next_cursor)).body.code).toBe('replay_expired');
});

it('webhooks go on, however often it was said before they could move', async () => {
  const { sql } = database;
  const receiver = await openReceiver();
  const [asking, lapsed] = await Promise.all([issue(sql, 1), issue(sql, 1)]);
  const { id } = await addEndpoint(database, asking.credential, receiver.url);
  const late = await addEndpoint(database, lapsed.credential, receiver.url);
  await sql`UPDATE gateway.credential SET expires_at = now() WHERE id = ${lapsed.credential}`;
  for (const _ of [1, 2, 3]) await document('restored', '--yes');
  await tell(database, 2);
  const running = run(database, [receiver]);
  const delivered = (to: string) => async (): Promise<boolean> => {
    const rows = await sql`SELECT FROM gateway.webhook_delivery
      WHERE endpoint_id = ${to} AND event_type = 'visitor.changed' AND status = 'delivered'`;
    return rows.length === 2;
  };
  try {
    await until(delivered(id));
    // The credential of the second endpoint was expired during all three runs. The deliveries to this endpoint start
    // only when the credential is renewed.
    await sql`UPDATE gateway.credential SET expires_at = now() + interval '1 day' WHERE id = ${lapsed.credential}`;
    await until(delivered(late.id));
  } finally {
    await running.stop();
    await receiver.close();
    await sql`DELETE FROM gateway.webhook_endpoint`;
  }
  expect(running.errors).toEqual([]);
});

it('a website that was removed, and one that a writer is at, are left in order', async () => {
  const { sql } = database;
  await sql`INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
            SELECT 1, platform.reserve_ids(1, 0, 'website', 1) + 1, 'brief', 'Brief', 'UTC'`;
  await sql`DELETE FROM platform.website WHERE external_id = 'brief'`;
  for (const writing of [
    `SELECT gateway.append_receipts(1, 1, ARRAY['visitor.changed'])`,
    `INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
     SELECT 1, platform.reserve_ids(1, 0, 'website', 1) + 1, 'late', 'Late', 'UTC'`,
    `WITH made AS (INSERT INTO platform.organization (external_id, name) VALUES ('later', 'Later') RETURNING tenant)
     SELECT platform.reserve_ids(tenant, 0, 'website', 1) FROM made`,
  ]) {
    const [before] = await sql`SELECT max(trimmed) AS trimmed FROM gateway.journal_head WHERE site = 1`;
    const writer = await sql.reserve();
    await writer.unsafe('BEGIN');
    await writer.unsafe(writing);
    const restored = document('restored', '--yes');
    await eventually(async () => {
      const [waiting] = await sql`SELECT count(*)::integer AS n FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      expect(waiting).toEqual({ n: 1 });
    });
    await writer.unsafe('COMMIT');
    writer.release();
    await restored;
    expect(await runChecks(database.db), writing).toEqual([]);
    const [after] = await sql`
      SELECT (SELECT max(trimmed) FROM gateway.journal_head WHERE site = 1) > ${before?.['trimmed']}::bigint AS on,
             (SELECT array_agg(w.external_id) FROM platform.website w LEFT JOIN gateway.journal_head h USING (tenant, site)
               WHERE coalesce(h.trimmed, 0) < 1e9) AS behind`;
    expect(after, writing).toEqual({ on: true, behind: null });
  }
  const [numbers] =
    await sql`SELECT count(*)::integer AS n FROM platform.native_id WHERE kind = 'website' AND last < 1e9`;
  expect(numbers).toEqual({ n: 0 });
});

it('what is made after it has numbers, and so ids, that nothing of the lost time had', async () => {
  const { sql } = database;
  const folder = mkdtempSync(join(tmpdir(), 'gateway-restored-'));
  const at = '2026-11-01T09:00:00Z';
  const lines = [
    { type: 'organization', external_id: 'newer', name: 'Newer' },
    { type: 'website', external_id: 'newest', organization: 'larkspur', name: 'Newest', time_zone: 'UTC' },
    { type: 'visitor', external_id: 'first-of-it', website: 'newest', created_at: at },
    { type: 'visitor', external_id: 'next-of-another', website: 'larkspur-us', created_at: at },
    { type: 'subsite', external_id: 'first-of-its-kind', website: 'larkspur-eu', name: 'First' },
  ];
  await sql`DELETE FROM platform.native_id WHERE (site, kind) = (2, 'subsite')`;
  await sql`DELETE FROM platform.subsite WHERE site = 2`;
  const [used] = await sql`SELECT max(tenant) AS tenant FROM platform.organization`;
  await document('restored', '--yes');
  writeFileSync(join(folder, 'new.ndjson'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const ran = await command('import', join(folder, 'new.ndjson'));
  rmSync(folder, { recursive: true, force: true });
  expect(ran).toMatchObject({ code: 0 });
  const [made] = await sql`
    SELECT (SELECT tenant - ${used?.['tenant']}::bigint > 1e4 FROM platform.organization WHERE external_id = 'newer') AS organization,
           (SELECT site > 1e9 FROM platform.website WHERE external_id = 'newest') AS website,
           (SELECT bool_and(id > 1e9 OR site > 1e9) FROM platform.visitor WHERE external_id IN ('first-of-it', 'next-of-another')) AS visitors,
           (SELECT id > 1e9 FROM platform.subsite WHERE external_id = 'first-of-its-kind') AS subsite`;
  expect(made).toEqual({ organization: true, website: true, visitors: true, subsite: true });
  const [row] = await sql<{ id: string }[]>`
    SELECT 'vis_1_1_' || id AS id FROM platform.visitor WHERE external_id = 'next-of-another'`;
  expect(await gateway.ask(`/api/v1/dashboard/visitors/${row?.id}`, { token })).toMatchObject({ status: 200 });
  expect(await runChecks(database.db)).toEqual([]);
});

it('notes have numbers however often it is said', async () => {
  const { sql } = database;
  const writer = await gateway.issue({ authors: ['opr_1_1_1'] });
  await sql`UPDATE platform.native_id SET last = 3000000000 WHERE (tenant, site, kind) = (1, 2, 'note')`;
  for (let n = 0; n < 20; n++) await command('restored', '--yes');
  const note = () =>
    gateway.ask('/api/v1/visitors/vis_1_1_4/notes', {
      ...{ token: writer.token, body: { text: 'After a restore' } },
      headers: { 'idempotency-key': randomUUID() },
    });
  const [first, second] = [await note(), await note()];
  expect([first.status, second.status]).toEqual([200, 200]);
  const most =
    await sql`SELECT max(id) > 5e8 AS far, max(id) < 2147483647 AS fits FROM platform.note WHERE (tenant, site) = (1, 1)`;
  expect(most).toEqual([{ far: true, fits: true }]);
});

it('without --yes it names the store, without a password, and changes nothing', async () => {
  const { sql } = database;
  const heads = (): Promise<unknown> => sql`SELECT * FROM gateway.journal_head ORDER BY tenant, site`;
  const before = await heads();
  const address = `postgres://someone:hidden@127.0.0.1:${database.port}/live`;
  for (const [name, env] of [
    // The database driver takes the missing parts of an address from the environment. The message must name these parts
    // too.
    [`${database.host}:${database.port}/${database.name} (DATABASE_URL)`, {}],
    [
      `db.internal:6543/live (DATABASE_URL)`,
      { DATABASE_URL: 'postgres://', PGHOST: 'db.internal', PGPORT: '6543', PGDATABASE: 'live' },
    ],
    [`db.internal:${database.port}/live (DATABASE_URL)`, { DATABASE_URL: 'postgres://db.internal/kept?database=live' }],
    [`/run/pg:5433/live (DATABASE_URL)`, { DATABASE_URL: 'postgres://someone:hidden@%2Frun%2Fpg:5433/live' }],
    [`127.0.0.1:${database.port}/live (DATABASE_URL)`, { DATABASE_URL: address }],
    [`127.0.0.1:${database.port}/live (DATABASE_DIRECT_URL)`, { DATABASE_DIRECT_URL: address }],
  ] as const) {
    for (const [setting, value] of Object.entries(env)) vi.stubEnv(setting, value);
    for (const flags of [[], ['--json']])
      expect(await command('restored', ...flags)).toEqual({
        code: 1,
        stdout: '',
        stderr: `gateway: This ends all cursors, consents and sign-ins of this store: ${name}. Use --yes if this store is the restored one.\n`,
      });
    vi.unstubAllEnvs();
  }
  expect(await heads()).toEqual(before);
  expect((await command('doctor')).stdout).toContain(
    `${database.host}:${database.port}/${database.name} (DATABASE_URL)`,
  );
});

it.each([['doctor'], ['restored', '--yes']])('%s makes no store', async (...argv) => {
  const folder = join(tmpdir(), `gateway-nowhere-${process.pid}`);
  vi.stubEnv('DATABASE_URL', '');
  vi.stubEnv('GATEWAY_DATA_DIR', folder);
  expect(await command(...argv)).toEqual({
    code: 1,
    stdout: '',
    stderr: `gateway: There is no store in ${folder}. Set GATEWAY_DATA_DIR to the folder of the store, or DATABASE_URL to its server.\n`,
  });
  expect(existsSync(folder)).toBe(false);
});

it('doctor refuses a store of an older gateway, or none, and leaves it as it is', async () => {
  const { sql } = database;
  const refused = async (version: number, needed: number): Promise<void> => {
    const { code, stderr } = await command('doctor');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(
          `^gateway: The store has schema version ${version}, but this gateway needs ${needed}, and this .*\\.\\n$`,
        ),
      ),
    ]);
  };
  const [last] = await sql<{ version: number }[]>`SELECT max(version) AS version FROM public.gateway_migration`;
  const version = last?.version ?? 0;
  const rows = await sql`DELETE FROM public.gateway_migration WHERE version = ${version} RETURNING *`;
  await refused(version - 1, version);
  expect(await sql`SELECT FROM public.gateway_migration WHERE version = ${version}`).toHaveLength(0);
  expect(rows).toHaveLength(1);
  await sql`INSERT INTO public.gateway_migration ${sql(rows)}`;
  vi.stubEnv('DATABASE_URL', 'postgres:///postgres');
  expect(await command('doctor')).toMatchObject({
    code: 1,
    stderr:
      'gateway: There is no store in the database of DATABASE_URL. Name the database of the store, or make a store there with `gateway migrate`.\n',
  });
  vi.unstubAllEnvs();
  expect(await runChecks(database.db)).toEqual([]);
});

it('a store of a newer gateway is refused with a sentence', async () => {
  await database.sql`INSERT INTO public.gateway_migration (version, name) VALUES (9999, '9999_future.sql')`;
  const { code, stderr } = await command('migrate');
  await database.sql`DELETE FROM public.gateway_migration WHERE version = 9999`;
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^gateway: The store has schema version 9999, but this gateway knows only \d+\. Start the newer gateway, or restore a backup\.\n$/,
  );
});

it('a store of another history, or of a version below 50, is refused with a sentence, by each command and by the server, and stays as it is', async () => {
  const { sql } = database;
  const recorded = () =>
    sql<{ version: number; name: string }[]>`SELECT * FROM public.gateway_migration ORDER BY version`;
  const before = await recorded();
  const unknown = (first: number, last: number): string[] =>
    Array.from({ length: last - first + 1 }, (_, i) => `${String(first + i).padStart(4, '0')}_unknown.sql`);
  const only = (version: number) =>
    `The store has schema version ${version}, but this gateway goes on only from 50. Run \`gateway migrate\` of a gateway with schema version 50 first (docs/operations.md, Upgrade).`;
  const named =
    'The store has migration 0050_unknown.sql, but this gateway expects 0050_webhook_rounds.sql. A store from before version 0.1.0 cannot be migrated. Create a new database, or remove the data folder of the embedded PostgreSQL, then import again.';
  let said = '';
  for (const [why, names] of [
    [named, unknown(1, 50)],
    [named, unknown(1, 51)],
    [only(1), ['0001_platform.sql']],
    [only(49), unknown(1, 49)],
  ] as const) {
    await sql`DELETE FROM public.gateway_migration`;
    await sql`INSERT INTO public.gateway_migration ${sql(names.map((name, i) => ({ version: i + 1, name })))}`;
    const old = await recorded();
    said = `gateway: ${why}\n`;
    expect(await command('migrate')).toEqual({ code: 1, stdout: '', stderr: said });
    expect(await recorded()).toEqual(old);
  }
  const old = await recorded();
  for (const argv of [['doctor'], ['demo']])
    expect(await command(...argv), argv[0]).toEqual({ code: 1, stdout: '', stderr: said });
  const databaseUrl = `postgres://postgres@${encodeURIComponent(database.host)}:${database.port}/${database.name}`;
  await expect(startReplica({ databaseUrl })).rejects.toThrow(new Error(`replica ended with 1: ${said}`));
  expect(await recorded()).toEqual(old);
  await sql`DELETE FROM public.gateway_migration`;
  await sql`INSERT INTO public.gateway_migration ${sql(before)}`;
  expect(await recorded()).toEqual(before);
});
