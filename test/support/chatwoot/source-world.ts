import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import postgres from 'postgres';
import { inject } from 'vitest';
import { packageRoot } from '../../../src/config/package.ts';
import { openChatwoot } from '../../../src/sources/chatwoot/chatwoot.ts';
import { chatwootGrants } from '../../../src/sources/chatwoot/grants.ts';
import { parseRecord } from '../../../src/sources/engine/parse-record.ts';
import type { SourceSettings } from '../../../src/sources/kinds.ts';
import type { Change, Position, Source } from '../../../src/sources/source.ts';

const SCHEMA = readFileSync(new URL('test/support/chatwoot/schema.sql', packageRoot), 'utf8');

export interface ChatwootWorld {
  /** A connection as superuser, like that of Chatwoot's application. */
  readonly sql: postgres.Sql;
  readonly role: string;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  address(role?: string): string;
  grant(mode: 'poll' | 'live'): Promise<void>;
  /** Opens a second connection, for a transaction that stays open. */
  connect(role?: string): postgres.Sql;
  open(settings?: Partial<Omit<SourceSettings, 'account'> & { readonly account: number }>): Source;
  close(): Promise<void>;
}

export type Told = Readonly<Record<string, unknown>> & { readonly type: string; readonly external_id: string };

const TEMPLATE = 'chatwoot_template';

/** Makes the database with Chatwoot's tables that worlds clone. The first world of a run makes it. */
async function makeTemplate(admin: postgres.Sql, connect: (database: string) => postgres.Sql): Promise<void> {
  await admin`SELECT pg_advisory_lock(hashtext(${TEMPLATE}))`;
  const there = await admin`SELECT FROM pg_database WHERE datname = ${TEMPLATE}`;
  if (there.length === 0) {
    await admin.unsafe(`CREATE DATABASE ${TEMPLATE} TEMPLATE template0`);
    const sql = connect(TEMPLATE);
    await sql.unsafe(SCHEMA);
    await sql.end();
  }
  await admin`SELECT pg_advisory_unlock(hashtext(${TEMPLATE}))`;
}

/** A new database with Chatwoot's tables, or a copy of the database `template`, and its own role. */
export async function chatwootWorld(
  options: { encoding?: string; schema?: boolean; template?: string } = {},
): Promise<ChatwootWorld> {
  const { encoding, schema = true } = options;
  const { host, port } = inject('server');
  const name = `c_${randomBytes(6).toString('hex')}`;
  const role = `r_${name}`;
  const base = { host, port, max: 1, onnotice: () => undefined, connection: { TimeZone: 'UTC' } };
  const open = (database: string): postgres.Sql => postgres({ ...base, database, username: 'postgres' });
  const admin = open('postgres');
  const template = options.template ?? (schema && encoding === undefined ? TEMPLATE : undefined);
  if (template === TEMPLATE) await makeTemplate(admin, open);
  const how = encoding === undefined ? '' : ` ENCODING '${encoding}' LOCALE 'C'`;
  await admin.unsafe(
    `CREATE DATABASE ${name} TEMPLATE ${template ? `${template} STRATEGY FILE_COPY` : `template0${how}`}`,
  );
  const opened: postgres.Sql[] = [];
  const sources: Source[] = [];
  const connect = (username = 'postgres'): postgres.Sql => {
    const connection = postgres({ ...base, database: name, username });
    opened.push(connection);
    return connection;
  };
  const sql = connect();
  if (schema && template === undefined) await sql.unsafe(SCHEMA);
  const address = (username = role): string => `postgres://${username}@${encodeURIComponent(host)}:${port}/${name}`;
  return {
    sql,
    role,
    host,
    port,
    database: name,
    address,
    grant: async (mode) => {
      await sql.unsafe(chatwootGrants({ role, mode }));
    },
    connect,
    open: ({ account = 1, ...settings } = {}) => {
      const source = openChatwoot({
        address: address(),
        account: String(account),
        mode: 'live',
        period: 1,
        timeZone: 'Europe/Berlin',
        storage: null,
        reader: 'src_1',
        ...settings,
      });
      sources.push(source);
      return source;
    },
    close: async () => {
      await Promise.all(sources.map((source) => source.close()));
      await sql.unsafe(`DROP OWNED BY ${role}; DROP ROLE ${role}`).catch(() => undefined);
      await Promise.all(opened.map((one) => one.end({ timeout: 1 })));
      await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.unsafe(`DROP ROLE IF EXISTS ${role}`);
      await admin.end();
    },
  };
}

export async function loaded(source: Source): Promise<Told[]> {
  const all: Told[] = [];
  let after: Position | null = null;
  do {
    const page: Awaited<ReturnType<Source['load']>> = await source.load(after);
    all.push(...recordsIn(page.changes));
    after = page.after;
  } while (after !== null);
  return all;
}

/** Reads all pages of changes and returns the place after them. */
export async function followed(source: Source, from: Position): Promise<{ changes: Change[]; after: Position }> {
  const changes: Change[] = [];
  for (let after = from; ; ) {
    const page = await source.changes(after);
    changes.push(...page.changes);
    if (page.after === null) throw new Error('following has no end');
    after = page.after;
    if (!page.more) return { changes, after };
  }
}

export const recordsIn = (changes: readonly Change[]): Told[] =>
  changes.flatMap((change) => ('record' in change ? [told(change.record)] : []));

export const goneIn = (changes: readonly Change[]): string[] =>
  changes.flatMap((change) => ('gone' in change ? [change.gone.external_id] : [])).sort();

function told(record: Readonly<Record<string, unknown>>): Told {
  const { type, external_id } = record;
  if (typeof type !== 'string' || typeof external_id !== 'string') throw new Error('a record has no type or no id');
  return { ...record, type, external_id };
}

/** Why the import would refuse a record. A file without content has `size`, which the import learns later. */
export function problemsOf({ size, ...record }: Told): readonly string[] {
  const parsed = parseRecord(size === undefined ? record : { ...record, content_base64: '' });
  return parsed.ok ? [] : parsed.problems.map(({ pointer, code }) => `${code} ${pointer}`);
}
