import { createHmac, hkdfSync } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Trail } from '../../src/audit/trail.ts';
import { verifyAudit } from '../../src/audit/verify.ts';
import type { CallActor, CallReport } from '../../src/core/audit.ts';
import type { AuditFilter } from '../../src/core/audit-records.ts';
import {
  auditPages,
  newestAudit,
  readAuditReaders,
  searchAudit,
} from '../../src/store/administration/audit-records.ts';
import type { AuditRow } from '../../src/store/calls/audit-records.ts';
import type { Database } from '../../src/store/driver/postgres.ts';
import { auditOf, forgetAudit } from '../support/audit.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { KEYS } from '../support/keys.ts';
import { packAudit } from '../support/planted-audit.ts';

/** E6: reads of one caller are recorded in blocks, which readers and `audit verify` must not be able to tell from rows. */
let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  await database.sql`SELECT gateway.prepare_audit(7)`;
});
afterAll(() => database.close());

it('the quick HMAC is HMAC-SHA256 (RFC 2104), of short and of long texts', () => {
  const key = hkdfSync('sha256', Buffer.alloc(32, 7), '', 'installation-gateway audit', 32);
  for (const text of ['', 'a', 'é\u{1f600}', 'x'.repeat(1_365), 'é'.repeat(1_366), '€'.repeat(100_000)]) {
    const expected = createHmac('sha256', new Uint8Array(key)).update(text).digest('hex');
    expect([KEYS.digest('audit', text), KEYS.sign('audit', text).mac.toString('hex')]).toEqual([expected, expected]);
  }
});

describe('what a process appends', () => {
  const CALLER: CallActor = {
    ...{ organizationId: 'org_1', appId: 'app_1', installationId: 'ins_1', credentialId: 'crd_1', personId: 'prs_1' },
  };
  const add = (trail: Trail, more: Partial<CallReport> = {}, actor = CALLER, name = `odd "name" \\ ,{}()`): void => {
    const report = { operation: 'contact_get', targets: ['ctc_1_1_1'], outcome: 'ok', status: 200, units: 1, ...more };
    const origin = { requestId: 'req', surface: 'rest', from: '10.1.2.3', client: { name } } as const; // a literal type
    trail.add(origin, { actor, input: { contact_id: 'ctc_1_1_1' }, ...report }, 2.25);
  };
  const today = (): string => new Date().toISOString().slice(0, 10);
  const verify = async () => {
    const { records, findings } = await verifyAudit(database.db, KEYS, { from: today(), to: today() }, [], 90);
    return { records, kinds: [...new Set(findings.map(({ finding }) => finding))].toSorted() };
  };

  /** 20 calls of one caller with other calls between, within a second. */
  const append = async (): Promise<void> => {
    await forgetAudit(database);
    await database.sql`DELETE FROM gateway.audit_chain`;
    // All calls lie within one second, and far from the next one.
    await eventually(() => expect(Date.now() % 1_000).toBeLessThan(300));
    const db = database.db;
    const trail = new Trail({ db, upkeep: db, keys: KEYS, fullAddresses: false, days: 90, onError: console.error });
    await trail.start();
    for (let i = 0; i < 20; i++) add(trail, { targets: [`ctc_1_1_${i % 3}`, 'vis_1_1_1'], count: i });
    for (let i = 0; i < 3; i++) add(trail, { outcome: 'not_found', status: 404 }, { ...CALLER, credentialId: 'crd_2' });
    for (let i = 0; i < 5; i++) add(trail, { operationId: `op_${i}`, replayed: true });
    for (let i = 0; i < 5; i++) add(trail, {}, { organizationId: 'org_1', personId: 'prs_1' });
    await trail.stop();
  };

  it.each([
    ['one caller', () => 'crd_1'],
    ['many callers', (i: number) => `crd_${i}`],
  ])('of %s are made in slices, and requests run in between', async (_, credentialId) => {
    const db = database.db;
    let turns = 0;
    let before: number | undefined;
    const count = (): void => {
      turns++;
      if (before === undefined) setImmediate(count);
    };
    const watched: Database = {
      ...db,
      query: (statement) => {
        before ??= turns;
        return db.query(statement);
      },
    };
    const options = { upkeep: db, keys: KEYS, fullAddresses: false, days: 90, onError: console.error };
    const trail = new Trail({ ...options, db: watched });
    for (let i = 0; i < 500; i++) add(trail, {}, { ...CALLER, credentialId: credentialId(i) });
    setImmediate(count);
    await trail.stop();
    expect(before).toBeGreaterThanOrEqual(4);
    await forgetAudit(database);
  });

  it('is one block for one caller, and rows for few calls, for writes and for calls without a credential', async () => {
    await append();
    expect(await database.sql`SELECT calls, named FROM gateway.audit_block`).toEqual([{ calls: 20, named: 4 }]);
    expect(await database.sql`SELECT count(*)::integer AS n FROM gateway.audit`).toEqual([{ n: 13 }]);
    const all = await auditOf(database);
    expect(all).toHaveLength(33);
    expect(all.map(({ seq }) => Number(seq)).toSorted((a, b) => a - b)).toEqual(Array.from(all, (_, i) => i + 1));
    expect(new Set(all.map(({ id }) => id)).size).toBe(33);
    const [first] = await auditOf(database, { count: 7 });
    expect(first).toMatchObject({
      ...{
        organization_id: 'org_1',
        app_id: 'app_1',
        installation_id: 'ins_1',
        credential_id: 'crd_1',
        person_id: 'prs_1',
      },
      ...{ client_name: `odd "name" \\ ,{}()`, address: '10.1.2.0/24', surface: 'rest', operation: 'contact_get' },
      ...{
        targets: ['ctc_1_1_1', 'vis_1_1_1'],
        outcome: 'ok',
        status: 200,
        units: 1,
        duration_ms: 2.3,
        request_id: 'req',
      },
      input_digest: KEYS.sign('audit input', '{"contact_id":"ctc_1_1_1"}').mac,
    });
    expect(await verify()).toEqual({ records: 33, kinds: [] });
  });

  it.each([
    ['an altered outcome', `UPDATE gateway.audit_block SET records = replace(records, ',ok,', ',no,')`, ['altered']],
    ['an altered caller', `UPDATE gateway.audit_block SET person_id = 'prs_2'`, ['altered']],
    ['another second', `UPDATE gateway.audit_block SET time = time - interval '1 second'`, ['altered']],
    ['a fraction of a millisecond', `UPDATE gateway.audit_block SET time = time + interval '0.0005 s'`, ['altered']],
    ['text that is no record', `UPDATE gateway.audit_block SET records = 'x'`, ['altered']],
    ['a removed block', 'DELETE FROM gateway.audit_block', ['altered', 'broken']],
    ['a removed target', `DELETE FROM gateway.audit_target WHERE target = 'ctc_1_1_1'`, ['altered']],
    [
      'an altered target',
      `UPDATE gateway.audit_target SET target = 'ctc_1_1_9' WHERE target = 'ctc_1_1_1'`,
      ['altered'],
    ],
    ['an altered count', `UPDATE gateway.audit_target SET calls = 1 WHERE target = 'ctc_1_1_1'`, ['altered']],
    [
      'an inserted target',
      `INSERT INTO gateway.audit_target SELECT time, block, 'ctc_1_1_9', credential_id, NULL, 1, 0, 0, 0
         FROM gateway.audit_target WHERE target = 'ctc_1_1_1'`,
      ['altered'],
    ],
    ['a copied block', 'INSERT INTO gateway.audit_block SELECT * FROM gateway.audit_block', ['altered', 'broken']],
  ])('%s is found', async (_name, defect, kinds) => {
    await append();
    // As somebody could who may write to the tables.
    await database.sql`ALTER TABLE gateway.audit_block DROP CONSTRAINT IF EXISTS audit_block_time_check`;
    expect((await database.sql.unsafe(defect)).count).toBeGreaterThan(0);
    expect((await verify()).kinds).toEqual(kinds);
  });

  it('blocks of a day are dropped with it, and a block that cannot be stored does not lose its other records', async () => {
    await append();
    await database.sql`INSERT INTO gateway.audit_chain VALUES (gen_random_uuid(), now() AT TIME ZONE 'UTC', 1, 'k', '')`;
    await database.sql`SELECT gateway.prepare_audit_day('2020-01-01')`;
    await database.sql`SELECT gateway.drop_audit(90)`;
    const left = await database.sql`SELECT relname FROM pg_class WHERE relname LIKE '%\_20200101'`;
    expect([...left]).toEqual([]);
    const db = database.db;
    const trail = new Trail({ db, upkeep: db, keys: KEYS, fullAddresses: false, days: 90, onError: () => undefined });
    await trail.start();
    for (let i = 0; i < 50; i++) add(trail, { operation: i === 20 ? 'a\u0000b' : 'good' });
    await trail.stop();
    expect(await auditOf(database, { operation: 'good' })).toHaveLength(49);
    expect(await auditOf(database, { operation: 'lost' })).toMatchObject([{ count: 1 }]);
  });

  it.each([{ units: 1.5 }, { status: 40_000 }, { count: 2 ** 31 }])(
    'a record that no reader could read is in no block: %j',
    async (odd) => {
      await forgetAudit(database);
      const db = database.db;
      const trail = new Trail({ db, upkeep: db, keys: KEYS, fullAddresses: false, days: 90, onError: () => undefined });
      await trail.start();
      for (let i = 0; i < 20; i++) add(trail, i === 5 ? { ...odd, operation: 'odd' } : { operation: 'good' });
      await trail.stop();
      expect(await auditOf(database, { operation: 'good' })).toHaveLength(19);
      expect(await auditOf(database, { operation: 'odd' })).toEqual([]);
      expect(await auditOf(database, { operation: 'lost' })).toMatchObject([{ count: 1 }]);
    },
  );
});

describe('what readers find', () => {
  const START = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 200_000);
  const at = (seconds: number): string => new Date(START.getTime() + seconds * 1_000).toISOString();
  const NARROWED: readonly AuditFilter[] = [
    {},
    { operation: 'op_1' },
    { operation: 'nothing' },
    { outcome: 'not_found' },
    { surface: 'mcp' },
    { credential: 'crd_0' },
    { credential: 'crd_1', operation: 'op_3' },
    { credential: 'crd_0', target: 'ctc_1_1_7' },
    // So few that a page reads more seconds of rows than of blocks.
    { credential: 'crd_0', target: 'ctc_1_1_1000' },
    { credential: 'crd_0', target: 'ctc_1_1_7', outcome: 'not_found' },
    { credential: 'crd_1', target: 'ctc_1_1_7', operation: 'nothing' },
    { person: 'prs_1' },
    { target: 'ctc_1_1_3' },
    { target: 'web_1_1' },
    { from: at(10.5), to: at(40.25) },
    { from: at(10.5), to: at(10.75), credential: 'crd_0' },
    { from: at(20.1), to: at(20.9), outcome: 'not_found' },
    { to: at(5.004), target: 'ctc_1_1_3' },
  ];
  const FILTERS = NARROWED.map((filter) => ({ ...filter, organization: 'org_1' }));

  const plain = (rows: readonly AuditRow[]) => rows.map(({ place, matches, ...row }) => row);
  const pagesOf = async (filter: AuditFilter, order: 'newest' | 'oldest') => {
    const all: AuditRow[] = [];
    for await (const page of auditPages(database.db, filter, order)) all.push(...page);
    return plain(all);
  };
  const searched = async (filter: AuditFilter & { organization: string }) => {
    const all: AuditRow[] = [];
    let after: Awaited<ReturnType<typeof searchAudit>>['next'];
    do {
      const { rows, next } = await searchAudit(database.db, filter, { limit: 900, after });
      all.push(...rows);
      after = next;
    } while (after);
    return plain(all);
  };
  const everything = async () => ({
    pages: await Promise.all(FILTERS.flatMap((f) => [pagesOf(f, 'newest'), pagesOf(f, 'oldest')])),
    searched: await Promise.all(FILTERS.map(searched)),
    newest: await Promise.all(FILTERS.map(async (f) => plain(await newestAudit(database.db, f, 30)))),
    readers: await Promise.all(
      ['ctc_1_1_7', 'ctc_1_1_3', 'none'].map((target) => readAuditReaders(database.db, { target, days: 30 })),
    ),
  });

  type Everything = Awaited<ReturnType<typeof everything>>;
  /** Shows the first record that differs. To compare some 120,000 of them with `toEqual` took seconds. */
  const same = (found: Everything, wanted: Everything): void => {
    for (const what of ['pages', 'searched', 'newest', 'readers'] as const)
      for (const [i, list] of wanted[what].entries()) {
        const others: readonly unknown[] = found[what][i] ?? [];
        const where = `${what} ${JSON.stringify(what === 'readers' ? i : FILTERS[what === 'pages' ? i >> 1 : i])}`;
        for (const [n, row] of list.entries())
          if (!isDeepStrictEqual(others[n], row)) expect(others[n], `${where}, record ${n}`).toStrictEqual(row);
        expect(others.length, where).toBe(list.length);
      }
    expect(Object.values(found).map(({ length }) => length)).toEqual(Object.values(wanted).map(({ length }) => length));
  };

  it('is the same in rows, in blocks, and in both, for every filter and order', async () => {
    await forgetAudit(database);
    // 100 to 3,000 records a second, so that pages end within a second and between seconds.
    await database.sql`
      INSERT INTO gateway.audit (time, id, organization_id, website_id, credential_id, person_id, surface, operation, targets, count,
                                 outcome, status, units, duration_ms)
      SELECT time, (left(md5(credential || date_trunc('second', time)), 28)
                    || lpad(to_hex(row_number() OVER (PARTITION BY credential, date_trunc('second', time) ORDER BY n)), 4, '0'))::uuid,
             'org_1', 'web_1_1', credential, CASE credential WHEN 'crd_1' THEN 'prs_1' END,
             CASE credential WHEN 'crd_1' THEN 'mcp' ELSE 'rest' END, 'op_' || n % 5,
             CASE WHEN n % 11 = 0 THEN '{}' WHEN n % 150 = 0 THEN ARRAY['ctc_1_1_1000']
                  ELSE ARRAY['ctc_1_1_' || n % 20, 'vis_1_1_' || n % 3] END,
             CASE WHEN n % 11 = 0 THEN 5 END, CASE WHEN n % 97 = 0 THEN 'not_found' ELSE 'ok' END, 200, 1, 1
        FROM (SELECT n, ${START}::timestamptz + (CASE WHEN n < 6000 THEN n / 3 ELSE n * 5 - 28000 END) * interval '1 millisecond' AS time,
                     'crd_' || n % 3 AS credential FROM generate_series(0, 11999) n) s`;
    const rows = await everything();
    expect(rows.pages[0]).toHaveLength(12_000);
    expect(rows.readers[0]?.length).toBeGreaterThan(1);
    expect(await packAudit(database, 'crd_0', 2)).toBeGreaterThan(10);
    same(await everything(), rows);
    await packAudit(database, 'crd_0');
    await packAudit(database, 'crd_1');
    await packAudit(database, 'crd_2');
    expect(await database.sql`SELECT count(*)::integer AS n FROM gateway.audit`).toEqual([{ n: 0 }]);
    same(await everything(), rows);
  });
});
