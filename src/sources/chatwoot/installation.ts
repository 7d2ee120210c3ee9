import { createHash } from 'node:crypto';
import { sql } from '../../core/sql.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { Installation } from '../source.ts';

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The creation of the account, to the microsecond. Chatwoot never changes it, and a restore keeps it. */
export async function accountOf(db: Database, account: number): Promise<string | undefined> {
  const [row] = await db.read<{ at: string | null }>(
    sql`SELECT extract(epoch FROM a.created_at)::text AS at FROM public.accounts a WHERE a.id = ${account}::bigint`,
  );
  return row === undefined ? undefined : digest(`chatwoot account ${account} ${row.at ?? ''}`);
}

/**
 * Chatwoot's identifier, a UUID that Chatwoot makes when it first needs one. Its table also holds secrets, so the grants
 * do not include the table. The gateway reads the identifier only if the role can do so anyway.
 */
async function identifierOf(db: Database): Promise<string | undefined> {
  const [right] = await db.read<{ readable: boolean | null }>(
    sql`SELECT bool_and(has_column_privilege(a.attrelid, a.attnum, 'SELECT')) AND count(*) = 2 AS readable FROM pg_attribute a
         WHERE a.attrelid = to_regclass('public.installation_configs') AND a.attname IN ('name', 'serialized_value')`,
  );
  if (right?.readable !== true) return undefined;
  // Older versions of Chatwoot keep YAML in this column, newer ones an object. Both hold the UUID as text.
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
