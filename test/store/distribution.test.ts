import { afterAll, beforeAll, expect, it } from 'vitest';
import { compile, type Fragment } from '../../src/core/sql.ts';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import {
  overtakenNumbers,
  sitesOfStore,
  unrecordedNotes,
  wrongFiles,
  wrongTotals,
} from '../../src/store/doctor/doctor.ts';
import type { Database } from '../../src/store/driver/postgres.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { DEMO_NOW } from '../support/postgres.ts';

/**
 * A sharded PostgreSQL must keep all rows of an organization in one place (docs/operations.md). Therefore every key,
 * reference and statement of a platform table or of the journal has the distribution column `tenant`. If the rows
 * belong to a website, the column `site` is also present. statements.test.ts checks this for reads (TN-06). This file
 * checks it for the schema, every SQL function, an import and an audit.
 */
let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

/** Tables outside the schema `platform` that hold rows of a website. */
const BESIDE = ['journal', 'journal_head', 'family_hold'];

it('every key and every reference of a website’s tables carries the tenant', async () => {
  const keys = await database.sql<{ name: string; main: boolean; columns: string[] }[]>`
    SELECT i.indexrelid::regclass::text AS name, i.indisprimary AS main,
           ARRAY(SELECT a.attname::text FROM unnest(i.indkey::int2[]) k JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k) AS columns
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
     WHERE i.indisunique AND (c.relnamespace = 'platform'::regnamespace AND c.relname NOT IN ('organization', 'website')
        OR c.relnamespace = 'gateway'::regnamespace AND c.relname = ANY(${BESIDE}))`;
  for (const { name, main, columns } of keys)
    expect(columns.slice(0, main ? 2 : 1), name).toEqual(main ? ['tenant', 'site'] : ['tenant']);
  const references = await database.sql<{ name: string; columns: string[]; target: string }[]>`
    SELECT conrelid::regclass || ' ' || conname AS name, confrelid::regclass::text AS target,
           ARRAY(SELECT a.attname::text FROM unnest(conkey) k JOIN pg_attribute a ON a.attrelid = conrelid AND a.attnum = k) AS columns
      FROM pg_constraint WHERE contype = 'f' AND connamespace = 'platform'::regnamespace`;
  for (const { name, columns, target } of references)
    expect(columns.slice(0, 2), name).toEqual(target === 'platform.organization' ? ['tenant'] : ['tenant', 'site']);
  console.info(`${keys.length} unique keys, ${references.length} references`);
  expect(keys.length).toBeGreaterThan(35);
  expect(references.length).toBeGreaterThan(20);
});

/**
 * Splits a statement into its scopes. Each SELECT in parentheses is a separate scope. The text around it is another
 * scope.
 */
function scopesOf(statement: string): string[] {
  const open: string[] = [''];
  const scopes: string[] = [];
  for (const character of statement) {
    if (character === '(') open.push('');
    else if (character === ')' && open.length > 1) {
      const inner = open.pop() ?? '';
      const query = /^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b/i.test(inner);
      if (query) scopes.push(inner);
      open[open.length - 1] += query ? '()' : `(${inner})`;
    } else open[open.length - 1] += character;
  }
  return [...scopes, ...open];
}

/**
 * Finds every use of a platform table without a condition on one of these columns. Also counts all uses. When a SELECT
 * reads several tables, each condition must name the table to which it belongs.
 */
function lacking(text: string, columns: (table: string) => readonly string[]): { uses: number; without: string[] } {
  const without: string[] = [];
  let uses = 0;
  for (const statement of text
    .replace(/--.*$/gm, '')
    .replace(/\s+/g, ' ')
    .split(/;|\bLOOP\b|\bBEGIN\b/)) {
    for (const scope of scopesOf(statement)) {
      const read = /\b(?:FROM|JOIN|UPDATE|USING) (?:ONLY )?platform\.(\w+)\b(?!\()(?=(?: (?:AS )?(\w+))?)/gi;
      const alone =
        scope.match(/\b(FROM|JOIN|UPDATE|USING)(?! DISTINCT| SET)\b/gi)?.length === 1 &&
        !/\bFROM [^()]*?,/.test(scope.replace(/ (WHERE|GROUP|ORDER|RETURNING|LIMIT)\b.*/i, ''));
      for (const [, table = '', alias = ''] of scope.matchAll(read)) {
        uses++;
        const name = /^(where|on|join|left|set|order|group|cross|using)?$/i.test(alias) ? table : alias;
        for (const column of columns(table)) {
          const held = (own: string, where: string): boolean =>
            new RegExp(`${own} (?:=|IN\\b)|\\(${own}, (?:\\w+\\.)?\\w+(?:, [\\w.]+)*\\) (?:=|IN)`, 'i').test(where);
          const qualified =
            held(`\\b${name}\\.${column}`, statement) || new RegExp(`= ${name}\\.${column}\\b`, 'i').test(statement);
          const bare = (alone && held(`(?<![.\\w])${column}`, scope)) || /USING \(tenant, site/i.test(scope);
          if (!qualified && !bare) without.push(`${table} ${name} has no ${column}`);
        }
      }
      for (const [, table = '', given = ''] of scope.matchAll(
        /INSERT INTO platform\.(\w+)(?: AS \w+)? ?\(([^)]*)\)/gi,
      )) {
        uses++;
        if (table !== 'organization' && !/\btenant, site\b/.test(given)) without.push(`INSERT INTO ${table}`);
      }
    }
  }
  return { uses, without };
}

it('a statement without them is seen', () => {
  const both = (): string[] => ['tenant', 'site'];
  expect(lacking('SELECT FROM platform.note n WHERE n.id = 1', both).without).toHaveLength(2);
  expect(lacking('SELECT FROM platform.note n WHERE n.tenant = 1 AND n.id = 1', both).without).toHaveLength(1);
  expect(lacking('DELETE FROM platform.note WHERE tenant = 1 AND id = 1', both).without).toHaveLength(1);
  expect(lacking('INSERT INTO platform.note (id) VALUES (1)', both).without).toHaveLength(1);
  expect(lacking('SELECT FROM platform.note n WHERE n.tenant = 1 AND n.site = 2', both).without).toEqual([]);
  const first = 'DELETE FROM platform.note WHERE tenant = 1 AND site = 2;';
  expect(lacking(`${first} DELETE FROM platform.note WHERE id = 1`, both).without).toHaveLength(2);
  const joined = 'SELECT FROM platform.note JOIN platform.visitor v ON v.id = visitor_id WHERE tenant = 1 AND site = 2';
  expect(lacking(joined, both).without).toHaveLength(4);
  const inner = 'SELECT FROM platform.note WHERE id IN (SELECT id FROM platform.file WHERE tenant = 1 AND site = 2)';
  expect(lacking(inner, both).without).toEqual(['note note has no tenant', 'note note has no site']);
});

it('no function of the store touches a website’s table without tenant and site', async () => {
  const functions = await database.sql<{ name: string; source: string }[]>`
    SELECT p.oid::regproc::text AS name, p.prosrc AS source FROM pg_proc p
     WHERE p.pronamespace IN ('platform'::regnamespace, 'gateway'::regnamespace)`;
  let touched = 0;
  for (const { name, source } of functions) {
    const { uses, without } = lacking(source, (table) => (table === 'organization' ? ['tenant'] : ['tenant', 'site']));
    // Two functions are exceptions, because they are for a TRUNCATE, which affects every website. One appends receipts,
    // the other removes spellings. The gateway never sends a TRUNCATE.
    if (!['gateway.truncate_captured', 'platform.spellings_truncated'].includes(name))
      expect(without, name).toEqual([]);
    touched += uses;
  }
  console.info(`${functions.length} functions, ${touched} uses of platform tables`);
  expect(touched).toBeGreaterThan(15);
});

it('neither does an import, nor an audit of a website', async () => {
  const texts = new Set<string>();
  const note = (statement: Fragment): Fragment => {
    texts.add(compile(statement).text);
    return statement;
  };
  const db: Database = {
    ...database.db,
    query: (statement) => database.db.query(note(statement)),
    read: (statement) => database.db.read(note(statement)),
  };
  await importRecords(db, demoRecords(new Date(DEMO_NOW)), {});
  const [site = expect.fail('no website')] = await sitesOfStore(database.db);
  for (const audit of [wrongTotals, wrongFiles, overtakenNumbers, unrecordedNotes]) await audit(db, site);
  let touched = 0;
  for (const text of texts) {
    // An import looks up an organization by its name, before it knows the tenant. A sharded server can answer this
    // query on every shard, because each shard has a copy of the table of organizations.
    const { uses, without } = lacking(text, (table) => (table === 'organization' ? [] : ['tenant']));
    expect(without, text).toEqual([]);
    touched += uses;
  }
  console.info(`${texts.size} statements of an import and an audit, ${touched} uses of platform tables`);
  expect(touched).toBeGreaterThan(40);
});
