import { sql } from '../../core/sql.ts';
import { holdsIn, numberOf } from '../driver/answers.ts';
import type { Database } from '../driver/postgres.ts';
import type { OrganizationRecord } from './directory.ts';

/** The schema version of a store. 0: it is no store of the gateway. */
export async function schemaVersion(db: Database): Promise<number> {
  const begun = db.read<{ holds: boolean }>(sql`SELECT to_regclass('public.gateway_migration') IS NOT NULL AS holds`);
  if (!(await holdsIn(begun))) return 0;
  return numberOf(db.read(sql`SELECT max(version) AS n FROM public.gateway_migration`));
}

export interface CellKeys {
  /** The key of the ledger, in hex. Never shown. */
  readonly ledger: string;
  /** The key of suppressions, encrypted with GATEWAY_KEYS. Null: nobody was erased in this cell. */
  readonly suppression: string | null;
}

export async function readCellKeys(db: Database): Promise<CellKeys> {
  const [row] = await db.read<CellKeys>(sql`
    SELECT encode(l.key, 'hex') AS ledger, (SELECT s.sealed FROM gateway.suppression_key s) AS suppression
      FROM gateway.ledger_key l`);
  if (!row) throw new Error('the ledger has no key');
  return row;
}

/**
 * Takes the ledger key of another cell. False if this store has used its own: ids of operations and events are made with
 * it, and somebody may know them.
 */
export async function takeLedgerKey(db: Database, ledger: string): Promise<boolean> {
  const [row] = await db.query<{ same: boolean }>(sql`
    WITH taken AS (
      UPDATE gateway.ledger_key SET key = decode(${ledger}, 'hex')
       WHERE NOT EXISTS (SELECT FROM gateway.operation) AND NOT EXISTS (SELECT FROM gateway.journal_head)
      RETURNING key
    ) SELECT coalesce((SELECT true FROM taken), (SELECT key = decode(${ledger}, 'hex') FROM gateway.ledger_key)) AS same`);
  return row?.same === true;
}

/** How many processes of the gateway use the store, apart from commands. They keep the ledger key in memory. */
export async function servingConnections(db: Database): Promise<number> {
  const [row] = await db.read<{ n: number }>(sql`
    SELECT count(*)::integer AS n FROM pg_stat_activity
     WHERE datname = current_database() AND application_name ~ '^gateway(-|$)' AND application_name !~ '^gateway-c'`);
  return row?.n ?? 0;
}

export interface CellOrganization extends Pick<OrganizationRecord, 'id' | 'external_id' | 'host' | 'moved_to'> {
  readonly number: string;
}

export const readCellOrganizations = (db: Database): Promise<CellOrganization[]> =>
  db.read<CellOrganization>(sql`
    SELECT tenant::text AS number, public_id AS id, external_id, host, moved_to FROM platform.organization ORDER BY tenant`);

/** Something that the gateway has encrypted with GATEWAY_KEYS, newest first, with its purpose. */
export const readSealed = (
  db: Database,
): Promise<{ readonly purpose: 'webhook secret' | 'source' | 'suppression'; readonly sealed: string }[]> =>
  db.read(sql`
    (SELECT 'webhook secret' AS purpose, secret AS sealed FROM gateway.webhook_endpoint ORDER BY created_at DESC LIMIT 100)
    UNION ALL (SELECT 'source', address FROM gateway.source LIMIT 100)
    UNION ALL (SELECT 'suppression', sealed FROM gateway.suppression_key)`);
