import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { importRecords } from '../../../src/sources/files/import.ts';
import { deleteWebsite, markRemoved } from '../../../src/store/administration/removal.ts';
import { cliDatabase, document, gateway, refused } from '../../support/cli.ts';
import { issue } from '../../support/credentials.ts';
import type { TestDatabase } from '../../support/database.ts';
import { content, desk } from '../../support/import.ts';

const SOURCE = `src_${'a'.repeat(32)}`;

let store: TestDatabase;
beforeEach(async () => {
  vi.stubEnv('GATEWAY_KEYS', `1:${Buffer.alloc(32, 7).toString('base64')}`);
  store = await cliDatabase('empty');
  // Website w0 has 2,400 messages: more than one statement deletes.
  await importRecords(store.db, desk(2_400));
  await store.sql`INSERT INTO gateway.source (id, tenant, site, kind, account, mode, period, time_zone, address)
    SELECT ${SOURCE}, tenant, site, 'chatwoot', '1', 'poll', 15, 'UTC', 'sealed by nobody' FROM platform.website WHERE external_id = 'w0'`;
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await store.close();
});

const messages = async (): Promise<number> =>
  (
    await store.sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM platform.message m
      JOIN gateway.source s ON s.tenant = m.tenant AND s.site = m.site`
  )[0]?.n ?? 0;

/** The tables that have a row of this website. */
async function withRowsOf(site: number): Promise<string[]> {
  const tables = await store.sql<{ name: string }[]>`
    SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'site'
      JOIN pg_attribute t ON t.attrelid = c.oid AND t.attname = 'tenant'
     WHERE c.relkind = 'r' AND c.relnamespace IN ('platform'::regnamespace, 'gateway'::regnamespace) ORDER BY 1`;
  expect(tables.length).toBeGreaterThan(30);
  const found: string[] = [];
  for (const { name } of tables)
    if ((await store.sql.unsafe(`SELECT FROM ${name} WHERE tenant = 1 AND site = ${site} LIMIT 1`)).length > 0)
      found.push(name);
  return found;
}
const others = async (): Promise<string[]> =>
  Object.values(await content(store.sql))
    .flat()
    .filter((row) => !row.includes('"website":"w0"'));

it('a removal that was interrupted is finished by the same command, and touches no other website', async () => {
  const { credential } = await issue(store.sql, 1);
  const before = await others();
  expect(before.length).toBeGreaterThan(10_000);
  expect(await withRowsOf(1)).toEqual(expect.arrayContaining(['platform.message', 'platform.spelling']));
  // A killed command: the mark, and some statements.
  await markRemoved(store.db, SOURCE);
  do expect(await deleteWebsite(store.db, SOURCE, performance.now())).toBe(false);
  while ((await messages()) === 2_400);
  expect(await messages()).toBe(1_400);
  expect(await store.sql`SELECT sites::integer[] FROM gateway.credential WHERE id = ${credential}`).toEqual([
    { sites: [2] },
  ]);

  expect(await document('source', 'show', SOURCE)).toMatchObject({ state: 'removing', rows: { message: 1_400 } });
  for (const [name, said] of [
    ['resume', 'Nobody can take it back'],
    ['pause', 'Nobody can take it back'],
    ['check', 'is being removed'],
    ['remove', 'To finish it now, use --with-data'],
  ] as const)
    expect(await gateway('source', name, SOURCE, ...(name === 'remove' ? ['--yes'] : [])), name).toEqual(refused(said));

  expect(await document('source', 'remove', SOURCE, '--with-data', '--yes')).toMatchObject({ data_removed: true });
  expect(await document('source', 'list')).toEqual({ sources: [] });
  // Numbers of records are not given again, and receipts stay as long as others.
  expect(await withRowsOf(1)).toEqual(['gateway.journal', 'gateway.journal_head', 'platform.native_id']);
  expect(await others()).toEqual(before);
  expect(await gateway('doctor')).toMatchObject({ code: 0 });
});

it('the records of a website that an import deletes are not collected in memory', async () => {
  // Whoever gives texts of the removed website to this function has collected them.
  await store.sql.unsafe(`ALTER FUNCTION platform.forget RENAME TO forget_really;
    CREATE FUNCTION platform.forget(p_kinds text[], p_tenants bigint[], p_sites bigint[], p_ids bigint[], p_texts text[]) RETURNS void
    LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''% texts'', cardinality(p_texts); END'`);
  const file = join(mkdtempSync(join(tmpdir(), 'removal-')), 'records.ndjson');
  writeFileSync(file, `${JSON.stringify({ type: 'delete', of: 'website', external_id: 'w1' })}\n`);
  expect(await document('import', file, '--organization', 'org')).toMatchObject({ removed: 1, rejected: 0 });
  expect(await withRowsOf(2)).toEqual(['gateway.journal', 'gateway.journal_head', 'platform.native_id']);
  // A row of a website that stays still forgets its words.
  await expect(
    store.sql`DELETE FROM platform.note WHERE external_id = (SELECT min(external_id) FROM platform.note)`,
  ).rejects.toThrow('1 texts');
});
