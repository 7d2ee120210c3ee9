import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';
import { migrations } from '../../src/store/open/migrate.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

/** Reads the schema from the system catalogue, in a form that is the same on PostgreSQL 15 and 18. */
async function dump(): Promise<string> {
  const { sql } = database;
  const columns = await sql<{ line: string }[]>`
    SELECT format('%s.%s.%s %s%s%s', n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                  CASE WHEN a.attnotnull THEN ' NOT NULL' END,
                  ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid)) AS line
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE n.nspname IN ('platform', 'gateway') AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
     ORDER BY n.nspname, c.relname, a.attnum`;
  const rules = await sql<{ line: string }[]>`
    SELECT format('%s %s: %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS line FROM pg_constraint
     WHERE connamespace::regnamespace::text IN ('platform', 'gateway') AND contype IN ('p', 'u', 'f', 'c') ORDER BY 1`;
  const indexes = await sql<{ line: string }[]>`
    SELECT indexdef AS line FROM pg_indexes WHERE schemaname IN ('platform', 'gateway') ORDER BY 1`;
  const code = await sql<{ line: string }[]>`
    SELECT pg_get_triggerdef(t.oid) AS line FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE NOT t.tgisinternal AND c.relnamespace::regnamespace::text IN ('platform', 'gateway')
    UNION ALL
    SELECT format('FUNCTION %s(%s) RETURNS %s', p.oid::regproc, pg_get_function_identity_arguments(p.oid),
                  pg_get_function_result(p.oid))
      FROM pg_proc p WHERE p.pronamespace::regnamespace::text IN ('platform', 'gateway') ORDER BY 1`;
  return [columns, rules, indexes, code].map((part) => part.map(({ line }) => line).join('\n')).join('\n\n');
}

it('is the one committed: mend a wanted change with `npx vitest run test/store/schema.test.ts -u`', async () => {
  const schema = await dump();
  expect(schema.split('\n').length).toBeGreaterThan(200);
  await expect(`${schema}\n`).toMatchFileSnapshot('../golden/schema.txt');
});

it('is made by migrations that never change: put a change into a new file, and run `npm run generate`', async () => {
  const files = await migrations();
  expect(files.length).toBeGreaterThanOrEqual(13);
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
