import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';

/** The schema version of a store. 0: it is no store of the gateway. */
export async function schemaVersion(db: Database): Promise<number> {
  const [begun] = await db.read<{ begun: boolean }>(
    sql`SELECT to_regclass('public.gateway_migration') IS NOT NULL AS begun`,
  );
  if (begun?.begun !== true) return 0;
  const [row] = await db.read<{ version: number }>(sql`SELECT max(version) AS version FROM public.gateway_migration`);
  return row?.version ?? 0;
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

export interface CellOrganization {
  readonly number: string;
  readonly id: string;
  readonly external_id: string;
  readonly host: string | null;
  readonly moved_to: string | null;
}

/** What two cells must agree about, and what a move needs. */
export interface CellFacts {
  readonly cell: number;
  readonly postgres: string;
  /** Two addresses of one database have the same. */
  readonly database: string;
  /** Numbers of new organizations: the first and the last, and how many are left. */
  readonly from: number;
  readonly to: number;
  readonly left: number;
  readonly erased: boolean;
  readonly walLevel: string;
  readonly freeSlots: number;
  readonly freeSenders: number;
  /** In megabytes. -1: without limit. */
  readonly slotKeepsMegabytes: number;
  readonly logicalWorkers: number;
  readonly synchronous: boolean;
  readonly standbys: string;
  /** The role, as an SQL identifier. */
  readonly role: string;
  readonly replicates: boolean;
  readonly subscribes: boolean;
}

export async function readCellFacts(db: Database): Promise<CellFacts> {
  const [row] = await db.read<CellFacts>(sql`
    SELECT (SELECT number FROM gateway.cell) AS cell, current_setting('server_version') AS postgres,
           (SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() AS database,
           s.seqmin::float8 AS from, s.seqmax::float8 AS to,
           (s.seqmax - coalesce(pg_sequence_last_value(s.seqrelid), s.seqmin - 1))::float8 AS left,
           EXISTS (SELECT FROM gateway.suppression) AS erased, current_setting('wal_level') AS "walLevel",
           current_setting('max_replication_slots')::integer - (SELECT count(*)::integer FROM pg_replication_slots) AS "freeSlots",
           current_setting('max_wal_senders')::integer - (SELECT count(*)::integer FROM pg_stat_replication) AS "freeSenders",
           (SELECT setting::integer FROM pg_settings WHERE name = 'max_slot_wal_keep_size') AS "slotKeepsMegabytes",
           least(current_setting('max_logical_replication_workers')::integer,
                 current_setting('max_worker_processes')::integer) AS "logicalWorkers",
           current_setting('synchronous_commit') NOT IN ('off', 'local') AS synchronous,
           current_setting('synchronous_standby_names') AS standbys,
           quote_ident(r.rolname) AS role, r.rolsuper OR r.rolreplication AS replicates,
           r.rolsuper OR coalesce((SELECT pg_has_role(p.oid, 'MEMBER') FROM pg_roles p WHERE p.rolname = 'pg_create_subscription'), false)
             AND has_database_privilege(current_database(), 'CREATE') AS subscribes
      FROM pg_sequence s, pg_roles r
     WHERE s.seqrelid = pg_get_serial_sequence('platform.organization', 'tenant')::regclass AND r.rolname = current_user`);
  if (!row) throw new Error('the facts of a cell returned no row');
  return row;
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
