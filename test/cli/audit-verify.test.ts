import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cliDatabase, gateway as command } from '../support/cli.ts';
import type { Issued } from '../support/credentials.ts';
import type { TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { KEYS, RENEWED_KEYS } from '../support/keys.ts';
import { scratch } from '../support/scratch.ts';
import { type Example, examples, freshKey, writer } from '../support/surfaces/wire.ts';

/** E6: `audit verify` finds an altered, removed or inserted record, in the chains of two processes. */
let database: TestDatabase;
let gateways: TestGateway[];
let own: Issued;
let note: Example;
const OLD = `test:${Buffer.alloc(32, 7).toString('base64')}`;
const BOTH = `new:${Buffer.alloc(32, 8).toString('base64')},${OLD}`;

beforeAll(async () => {
  database = await cliDatabase('demo');
  const spare = { ...database, close: async () => undefined };
  gateways = [
    await openTestGateway('demo', spare, KEYS, {}, undefined, undefined, true),
    await openTestGateway('demo', spare, RENEWED_KEYS, {}, undefined, undefined, true),
  ];
  const [first] = gateways;
  if (!first) throw new Error('no gateway');
  own = await writer(first);
  note = (await examples(first)).find(({ tool }) => tool.name === 'visitor_note_add') ?? expect.fail();
  await Promise.all(
    gateways.map(async (one, n) => {
      // Each call has another client. Otherwise their records would be a block (test/audit/blocks.test.ts).
      for (let i = 0; i < 8; i++) {
        const headers = { 'user-agent': `reader${i}/1` };
        await one.ask('/api/v1/contacts?website_id=web_1_1', { token: own.token, headers });
      }
      for (let i = 0; i < 3; i++) {
        const headers = { 'idempotency-key': freshKey() };
        expect((await one.ask(note.url, { token: own.token, body: { text: `note ${n} ${i}` }, headers })).status).toBe(
          200,
        );
      }
    }),
  );
  await eventually(async () => {
    const [row] = await database.sql`SELECT count(*)::integer AS n FROM gateway.audit WHERE seq IS NOT NULL`;
    expect(row).toEqual({ n: 22 });
  });
  // The check leaves out writes and unsealed records of the last minute.
  await database.sql`UPDATE gateway.operation SET created_at = created_at - interval '2 minutes'`;
  await database.sql`UPDATE public.gateway_migration SET applied_at = now() - interval '1 day'`;
  await database.sql`CREATE TABLE public.kept AS SELECT * FROM gateway.audit`;
  await database.sql`CREATE TABLE public.kept_chain AS SELECT * FROM gateway.audit_chain`;
});
afterAll(async () => {
  await Promise.all(gateways.map((one) => one.close()));
  await database.close();
});

interface Checked {
  readonly records: number;
  readonly findings: readonly { readonly finding: string; readonly day?: string; readonly writer?: string }[];
  readonly heads: readonly unknown[];
}

async function verify(keys = BOTH, ...more: string[]): Promise<Checked & { readonly code: number }> {
  process.env['GATEWAY_KEYS'] = keys;
  try {
    const { code, stdout, stderr } = await command('audit', 'verify', '--json', ...more);
    expect(stdout, stderr).not.toBe('');
    return { code, ...JSON.parse(stdout) };
  } finally {
    delete process.env['GATEWAY_KEYS'];
  }
}
async function restored<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await database.sql`DELETE FROM gateway.audit`;
    await database.sql`DELETE FROM gateway.audit_chain`;
    await database.sql`INSERT INTO gateway.audit SELECT * FROM public.kept`;
    await database.sql`INSERT INTO gateway.audit_chain SELECT * FROM public.kept_chain`;
  }
}
const kinds = ({ findings }: Checked): string[] => [...new Set(findings.map(({ finding }) => finding))].toSorted();
const LAST = `SELECT DISTINCT ON (writer) id FROM gateway.audit ORDER BY writer, seq DESC`;

it('two processes have a chain each, in which nothing is wrong, and sums of all calls', async () => {
  const checked = await verify();
  expect(checked).toMatchObject({ code: 0, records: 22, findings: [] });
  expect(checked.heads).toHaveLength(2);
  const sums = await database.sql`
    SELECT operation, sum(calls)::integer AS calls, sum(units)::integer AS units,
           (SELECT sum(n)::integer FROM gateway.audit_hour b, unnest(b.buckets) AS n WHERE b.operation = h.operation) AS counted
      FROM gateway.audit_hour h GROUP BY 1 ORDER BY 1`;
  expect([...sums]).toEqual([
    { operation: 'contacts_list', calls: 16, units: 16, counted: 16 },
    { operation: 'visitor_note_add', calls: 6, units: 6, counted: 6 },
  ]);
});

it('with a key that is not given, its records cannot be checked', async () => {
  const checked = await verify(OLD);
  expect(checked.code).toBe(1);
  expect(kinds(checked)).toEqual(['unknown_key']);
  expect(checked.findings).toHaveLength(11);
});

describe('a planted defect', () => {
  it.each([
    ['an altered outcome', `UPDATE gateway.audit SET outcome = 'not_found' WHERE seq = 3`, ['altered']],
    ['an altered person', `UPDATE gateway.audit SET person_id = 'prs_0' WHERE seq = 3`, ['altered']],
    ['an altered time', `UPDATE gateway.audit SET time = time + interval '1 ms' WHERE seq = 4`, ['altered']],
    ['an altered target', `UPDATE gateway.audit SET targets = '{ctc_1_1_1}' WHERE seq = 4`, ['altered']],
    ['a removed record', 'DELETE FROM gateway.audit WHERE seq = 2 AND operation_id IS NULL', ['broken']],
    ['a removed end', `DELETE FROM gateway.audit WHERE operation_id IS NULL AND seq > 4`, undefined],
    ['a removed start', 'DELETE FROM gateway.audit WHERE seq <= 2 AND operation_id IS NULL', ['broken']],
    [
      'a removed chain',
      'DELETE FROM gateway.audit WHERE writer = (SELECT min(writer::text)::uuid FROM gateway.audit)',
      ['unrecorded_write', 'wrong_end'],
    ],
    ['a removed chain with its head, but not its writes', 'DELETE FROM gateway.audit_chain', ['wrong_end']],
    [
      'an inserted record',
      `INSERT INTO gateway.audit SELECT (jsonb_populate_record(a, '{"id": "00000000-0000-4000-8000-000000000000"}')).*
         FROM gateway.audit a WHERE seq = 3`,
      ['altered', 'broken'],
    ],
    [
      'a record of a write that waits for its link once more',
      `INSERT INTO gateway.audit
       SELECT (jsonb_populate_record(a, '{"writer": null, "seq": null, "kid": null, "previous": null, "digest": null}'
               || jsonb_build_object('time', date_trunc('milliseconds', now())))).*
         FROM gateway.audit a WHERE operation_id IS NOT NULL LIMIT 1`,
      ['altered'],
    ],
    [
      'an unsealed record',
      // A record of a command without keys would be sealed by a gateway meanwhile.
      `INSERT INTO gateway.audit (time, organization_id, credential_id, surface, operation, outcome, status, units, duration_ms)
       VALUES (date_trunc('second', now() - interval '2 minutes'), 'org', 'crd_7', 'rest', 'contact_get', 'ok', 200, 1, 1)`,
      ['unsealed'],
    ],
    [
      'a write without its record',
      `INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, created_at)
       VALUES ('op_${'7'.repeat(64)}', 'crd_7', 1, 1, 1, 'visitor_note_add', 'acknowledged', now() - interval '2 minutes')`,
      ['unrecorded_write'],
    ],
  ])('%s is found', async (_name, defect, found) => {
    await restored(async () => {
      const { count } = await database.sql.unsafe(defect);
      expect(count).toBeGreaterThan(0);
      const checked = await verify();
      expect(checked.code).toBe(1);
      if (found) expect(kinds(checked)).toEqual(found);
      else expect(kinds(checked).length).toBeGreaterThan(0);
    });
    await database.sql`DELETE FROM gateway.operation WHERE credential_id = 'crd_7'`;
    expect(await verify()).toMatchObject({ code: 0 });
  });

  it('a cut end with a head that fits is found only with the heads of an earlier check', async () => {
    const file = join(scratch('heads'), 'heads.json');
    const { heads } = await verify();
    writeFileSync(file, JSON.stringify({ heads }));
    expect(await verify(BOTH, '--heads', file)).toMatchObject({ code: 0 });
    await restored(async () => {
      await database.sql.unsafe(`DELETE FROM gateway.operation WHERE operation_id IN
        (SELECT operation_id FROM gateway.audit WHERE id IN (${LAST}))`);
      await database.sql.unsafe(`DELETE FROM gateway.audit WHERE id IN (${LAST})`);
      await database.sql`UPDATE gateway.audit_chain c SET (seq, digest) =
        (SELECT seq, digest FROM gateway.audit a WHERE a.writer = c.writer ORDER BY seq DESC LIMIT 1)`;
      expect(await verify()).toMatchObject({ code: 0 });
      const checked = await verify(BOTH, '--heads', file);
      expect([checked.code, kinds(checked)]).toEqual([1, ['missing_head']]);
    });
  });
});

it('a record whose form hides it from readers is refused, and found where the check was removed', async () => {
  const hidden = [
    `UPDATE gateway.audit SET targets = ('[0:0]={' || targets[1] || '}')::text[] WHERE operation_id IS NOT NULL`,
    `UPDATE gateway.audit SET targets = ARRAY[targets] WHERE operation_id IS NOT NULL`,
    `UPDATE gateway.audit SET time = time + interval '1 microsecond' WHERE seq = 3`,
  ];
  for (const defect of hidden) await expect(database.sql.unsafe(defect)).rejects.toThrow('audit_form_check');
  await database.sql`ALTER TABLE gateway.audit DROP CONSTRAINT audit_form_check`;
  for (const defect of hidden)
    await restored(async () => {
      await database.sql.unsafe(defect);
      const checked = await verify();
      expect([checked.code, kinds(checked)]).toEqual([1, ['altered']]);
    });
});

it('a day that is gone is found: between others by its partition, and by the heads of an earlier check', async () => {
  const [days] = await database.sql<{ old: string; gone: string; name: string }[]>`
    SELECT (d - 4)::text AS old, (d - 3)::text AS gone, to_char(d - 3, 'YYYYMMDD') AS name
      FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS d) t`;
  if (!days) throw new Error('no days');
  for (const day of [days.old, days.gone]) await database.sql`SELECT gateway.prepare_audit_day(${day}::text::date)`;
  await database.sql.unsafe(`DROP TABLE gateway.audit_${days.name}`);
  const file = join(scratch('heads'), 'gone.json');
  const { heads } = await verify();
  const head = { ...Object(heads[0]), day: days.gone };
  writeFileSync(file, JSON.stringify({ heads: [head, { ...head, day: '2020-01-01' }] }));
  const checked = await verify(BOTH, '--heads', file);
  expect(checked.findings.filter(({ finding }) => finding !== 'unsealed')).toMatchObject([
    { finding: 'missing_day', day: days.gone },
    { finding: 'missing_day' },
    { finding: 'missing_head', day: days.gone },
  ]);
  await database.sql.unsafe(`DROP TABLE gateway.audit_${days.old.replaceAll('-', '')}`);
});

it('many findings of one kind do not hide another one, and are counted', async () => {
  await restored(async () => {
    await database.sql`
      INSERT INTO gateway.audit
      SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'kid', 'gone'))).*
        FROM gateway.audit a, generate_series(1, 150) WHERE seq = 3 AND operation_id IS NULL`;
    await database.sql`UPDATE gateway.audit SET outcome = 'not_found' WHERE seq = 1`;
    const checked = await verify();
    expect(kinds(checked)).toContain('altered');
    expect(JSON.stringify(checked.findings)).toMatch(/At least (150|300) findings of this kind and day/);
  });
});

it('a process that was killed leaves records that another one seals, none seals a forged one, and one of a command needs keys', async () => {
  const [forged] = await database.sql`
    INSERT INTO gateway.audit (time, organization_id, credential_id, request_id, surface, operation, outcome, status, units, duration_ms)
    SELECT date_trunc('second', now() - interval '70 seconds'), 'org', v.credential, v.request, v.surface, 'contact_get', 'ok', 200, 1, 1
      FROM (VALUES ('rest', 'crd_7', NULL), ('cli', 'crd_7', NULL), ('cli', NULL, 'req_7')) v (surface, credential, request)
    RETURNING time`;
  expect(forged).toBeDefined();
  const [row] = await database.sql`SELECT public_id AS id FROM platform.organization WHERE tenant = 1`;
  process.env['GATEWAY_KEYS'] = OLD;
  expect(await command('app', 'create', '--organization', row?.['id'], '--name', 'Own')).toMatchObject({ code: 0 });
  delete process.env['GATEWAY_KEYS'];
  await database.sql`INSERT INTO gateway.audit (time, organization_id, surface, operation, outcome, status, units, duration_ms)
    VALUES (date_trunc('milliseconds', now() - interval '30 seconds'), 'org', 'cli', 'app create', 'ok', 200, 1, 1)`;
  await eventually(async () => {
    const [row] =
      await database.sql`SELECT count(*)::integer AS n FROM gateway.audit WHERE seq IS NULL AND surface = 'cli'
        AND credential_id IS NULL AND request_id IS DISTINCT FROM 'req_7'`;
    expect(row).toEqual({ n: 0 });
  }, 20_000);
  await pause(300);
  const checked = await verify();
  expect(checked).toMatchObject({ code: 1, records: 24 });
  // The command with keys is in order. Without them it looks like a forged record.
  expect(checked.findings.map(({ finding }) => finding)).toEqual(['without_key', ...Array(3).fill('unsealed')]);
});

it('refuses wrong options', async () => {
  process.env['GATEWAY_KEYS'] = BOTH;
  try {
    expect(await command('audit', 'verify', '--day', 'yesterday')).toMatchObject({ code: 2 });
    expect(await command('audit', 'verify', '--day', '2026-11-15', '--to', '2026-11-15')).toMatchObject({ code: 2 });
    // "No findings" would read as if records of these days were right.
    const none = 'there is nothing to check on these days';
    for (const days of [
      ['--day', '2020-01-01'],
      ['--day', '9999-01-01'],
      ['--from', '2026-12-02', '--to', '2026-12-01'],
    ])
      expect(await command('audit', 'verify', ...days)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(none),
      });
    const gone = await command('audit', 'verify', '--heads', '/nowhere');
    expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be read (ENOENT)') });
  } finally {
    delete process.env['GATEWAY_KEYS'];
  }
});
