import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';
import { migrations, schemaFiles } from '../../src/store/open/migrate.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { dumpSchema } from '../support/schema.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

it('is the one committed: mend a wanted change with `npx vitest run test/store/schema.test.ts -u`', async () => {
  const schema = await dumpSchema(database.sql);
  for (const [line, least] of [
    [/^CREATE OR REPLACE FUNCTION /gm, 150],
    [/^CREATE TRIGGER /gm, 100],
    [/^CREATE (UNIQUE )?INDEX /gm, 100],
  ] as const)
    expect(schema.match(line)?.length ?? 0, String(line)).toBeGreaterThan(least);
  await expect(schema).toMatchFileSnapshot('../golden/schema.txt');
});

/** A change of each kind, and what the dump then shows. */
const SHOWN = [
  [`ALTER TABLE gateway.app ALTER name TYPE text COLLATE "C"`, 'gateway.app.name text COLLATE "C" NOT NULL'],
  ['ALTER TABLE gateway.app ALTER name SET STORAGE EXTERNAL', 'STORAGE e STATISTICS 7'],
  ['ALTER TABLE gateway.app ALTER name SET STATISTICS 7', 'STORAGE e STATISTICS 7'],
  [
    'ALTER TABLE gateway.installation SET (fillfactor = 61)',
    'TABLE gateway.installation WITH fillfactor=61 ROW LEVEL SECURITY',
  ],
  [
    'ALTER TABLE gateway.installation ENABLE ROW LEVEL SECURITY',
    'TABLE gateway.installation WITH fillfactor=61 ROW LEVEL SECURITY',
  ],
  ['ALTER TABLE gateway.task SET UNLOGGED', 'UNLOGGED TABLE gateway.task'],
  ['ALTER TABLE platform.note DISABLE TRIGGER note_said', `platform.rows_said('note') ENABLED D`],
  ['ALTER SEQUENCE platform.organization_tenant_seq CACHE 7', 'CACHE 7 OWNED BY platform.organization.tenant'],
  [`COMMENT ON COLUMN gateway.app.name IS 'planted'`, 'table column gateway.app.name: planted'],
  ['GRANT SELECT ON gateway.app TO PUBLIC', 'gateway.app: {'],
  ['GRANT SELECT (name) ON gateway.app TO PUBLIC', 'gateway.app.name: {'],
  ['REVOKE ALL ON FUNCTION gateway.lock_tasks FROM PUBLIC', 'gateway.lock_tasks(text): {'],
  [
    `CREATE OR REPLACE FUNCTION gateway.lock_tasks(p_installation text) RETURNS void LANGUAGE plpgsql AS 'BEGIN /* planted */ END'`,
    'BEGIN /* planted */ END',
  ],
  ['ALTER FUNCTION gateway.lock_tasks SECURITY DEFINER', ' SECURITY DEFINER\n'],
  ['ALTER FUNCTION gateway.lock_tasks SET work_mem = 1000', ` SET work_mem TO '1000'\n`],
  [
    'CREATE OR REPLACE VIEW gateway.unbuilt_index AS SELECT name, relation, definition, searched FROM gateway.wanted_index',
    'CREATE VIEW gateway.unbuilt_index AS\n SELECT name,\n',
  ],
  ['CREATE INDEX planted ON gateway.app (name) WITH (fillfactor = 62)', `(name) WITH (fillfactor='62')`],
  [`CREATE TYPE gateway.planted AS ENUM ('a', 'b')`, `gateway.planted e 'a', 'b'`],
  ['CREATE POLICY planted ON gateway.app USING (false)', 'policy planted on gateway.app'],
  ['CREATE STATISTICS gateway.planted ON id, tenant FROM gateway.app', 'statistics object gateway.planted'],
  ['CREATE RULE planted AS ON UPDATE TO gateway.app DO INSTEAD NOTHING', 'rule planted on gateway.app'],
  [`INSERT INTO gateway.import_turn VALUES (7, 'epoch')`, 'gateway.import_turn {"at": '],
] as const;
const GONE = [
  ['ALTER TABLE gateway.app DROP CONSTRAINT app_burst_check', 'app_burst_check'],
  ['DROP INDEX gateway.task_lease', ' task_lease '],
  [`DELETE FROM gateway.wanted_index WHERE name = 'note_words'`, '"name": "note_words"'],
] as const;
it('shows each kind of change', async () => {
  const before = await dumpSchema(database.sql);
  const rolledBack = new Error('rolled back');
  const planting = database.sql.begin(async (transaction) => {
    for (const [change] of [...SHOWN, ...GONE]) await transaction.unsafe(change);
    const after = await dumpSchema(transaction);
    for (const [change, line] of SHOWN)
      expect([before.includes(line), after.includes(line)], change).toEqual([false, true]);
    for (const [change, line] of GONE)
      expect([before.includes(line), after.includes(line)], change).toEqual([true, false]);
    throw rolledBack;
  });
  await expect(planting).rejects.toBe(rolledBack);
  expect(await dumpSchema(database.sql)).toBe(before);
});

it('is made by migrations that never change: put a change into a new file, and run `npm run generate`', async () => {
  const files = [...(await schemaFiles()), ...(await migrations()).slice(1)];
  expect(files.length).toBeGreaterThan(34);
  const lines = files.map(({ name, text }) => `${createHash('sha256').update(text).digest('hex')}  ${name}\n`);
  expect(lines.join('')).toBe(await readFile(new URL('test/golden/migrations.txt', packageRoot), 'utf8'));
});

it('keys every platform table by tenant and site', async () => {
  const tables = await database.sql<{ name: string; columns: string[] }[]>`
    SELECT c.relname AS name, array_agg(a.attname::text ORDER BY array_position(i.indkey::int2[], a.attnum)) AS columns
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey)
     WHERE i.indisprimary AND c.relnamespace = 'platform'::regnamespace GROUP BY c.relname`;
  expect(tables.length).toBeGreaterThan(18);
  for (const { name, columns } of tables) {
    expect(columns.slice(0, 2), name).toEqual(name === 'organization' ? ['tenant'] : ['tenant', 'site']);
  }
});
