import { createHash } from 'node:crypto';
import { sql } from '../../core/sql.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { Installation } from '../source.ts';

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Returns when the account was created, in seconds since 1970 with six decimals. Chatwoot never changes it, and a restore
 * keeps it. Undefined if Chatwoot does not have the account.
 */
export async function creationOf(db: Database, account: number): Promise<string | undefined> {
  const [row] = await db.read<{ at: string | null }>(
    sql`SELECT extract(epoch FROM a.created_at)::text AS at FROM public.accounts a WHERE a.id = ${account}::bigint`,
  );
  return row && (row.at ?? '');
}

/** The digest that the store keeps beside the website. `at`: see `creationOf`. */
export const accountDigest = (account: number, at: string): string => digest(`chatwoot account ${account} ${at}`);

export async function accountOf(db: Database, account: number): Promise<string | undefined> {
  const at = await creationOf(db, account);
  return at === undefined ? undefined : accountDigest(account, at);
}

/**
 * Returns the UUID that Chatwoot makes for itself when needed. Its table also has secrets, so the grants leave it out.
 * The gateway reads the UUID only if the role may do so anyway.
 */
async function identifierOf(db: Database): Promise<string | undefined> {
  const [right] = await db.read<{ readable: boolean | null }>(
    sql`SELECT bool_and(has_column_privilege(a.attrelid, a.attnum, 'SELECT')) AND count(*) = 2 AS readable FROM pg_attribute a
         WHERE a.attrelid = to_regclass('public.installation_configs') AND a.attname IN ('name', 'serialized_value')`,
  );
  if (right?.readable !== true) return undefined;
  // Older versions of Chatwoot store YAML in this column, newer versions an object. Both contain the UUID as text.
  const [row] = await db.read<{ identifier: string | null }>(
    sql`SELECT substring(serialized_value::text FROM '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}') AS identifier
          FROM public.installation_configs WHERE name = 'INSTALLATION_IDENTIFIER'`,
  );
  return row?.identifier ? digest(row.identifier) : undefined;
}

/** Undefined if Chatwoot does not have the account. */
export async function installationOf(db: Database, account: number): Promise<Installation | undefined> {
  const of = await accountOf(db, account);
  return of === undefined ? undefined : { account: of, identifier: await identifierOf(db) };
}
