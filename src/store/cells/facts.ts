import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';

/** What a move, and `gateway cells check`, must know of the PostgreSQL of a cell and of the role that is connected. */
export interface CellFacts {
  /** System identifier and name of the database. Two addresses of one database have the same. */
  readonly identity: string;
  readonly cell: number;
  readonly postgres: string;
  readonly schema: string;
  readonly standby: boolean;
  /** False behind a pooler: the connection has not got the settings that the gateway sent. */
  readonly direct: boolean;
  /** Numbers of new organizations: the first and the last, and how many are left. */
  readonly from: number;
  readonly to: number;
  readonly left: number;
  /** A digest of the key. */
  readonly ledgerKey: string;
  /** Encrypted with GATEWAY_KEYS. Empty: no person was erased. */
  readonly suppressionKey: string;
  readonly walLevel: string;
  readonly freeSlots: number;
  readonly freeSenders: number;
  /** In megabytes. -1: without limit. */
  readonly slotKeepsMegabytes: number;
  readonly logicalWorkers: number;
  /** True if a crash loses no commit that was answered. */
  readonly synchronous: boolean;
  readonly backfills: boolean;
  /** The role and the database, as SQL identifiers. */
  readonly role: string;
  readonly database: string;
  /** The owner of the gateway's tables, as an SQL identifier, if the role may not act as this owner. */
  readonly owner: string | null;
  readonly replicates: boolean;
  readonly subscribes: boolean;
  readonly creates: boolean;
  /** True if the role may stop triggers for its own transaction. */
  readonly quiet: boolean;
}

export async function readCellFacts(db: Database): Promise<CellFacts> {
  const [row] = await db.read<CellFacts>(sql`
    -- Only stores from before 30 November 2026 have records of migrations below 50.
    SELECT (SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() AS identity,
           (SELECT number FROM gateway.cell) AS cell, current_setting('server_version') AS postgres,
           (SELECT string_agg(version || ' ' || name, ',' ORDER BY version) FROM public.gateway_migration WHERE version >= 50) AS schema,
           pg_is_in_recovery() AS standby,
           (SELECT source = 'client' FROM pg_settings WHERE name = 'statement_timeout') AS direct, s.seqmin::float8 AS from, s.seqmax::float8 AS to,
           (s.seqmax - coalesce(pg_sequence_last_value(s.seqrelid), s.seqmin - 1))::float8 AS left,
           coalesce((SELECT encode(sha256(key), 'hex') FROM gateway.ledger_key), '') AS "ledgerKey",
           coalesce((SELECT sealed FROM gateway.suppression_key), '') AS "suppressionKey",
           current_setting('wal_level') AS "walLevel",
           current_setting('max_replication_slots')::integer - (SELECT count(*)::integer FROM pg_replication_slots) AS "freeSlots",
           current_setting('max_wal_senders')::integer - (SELECT count(*)::integer FROM pg_stat_replication) AS "freeSenders",
           (SELECT setting::integer FROM pg_settings WHERE name = 'max_slot_wal_keep_size') AS "slotKeepsMegabytes",
           least(current_setting('max_logical_replication_workers')::integer,
                 current_setting('max_worker_processes')::integer) AS "logicalWorkers",
           current_setting('synchronous_commit') NOT IN ('off', 'local') AS synchronous,
           EXISTS (SELECT FROM gateway.unnoted_block) OR EXISTS (SELECT FROM gateway.unspelled) AS backfills,
           quote_ident(r.rolname) AS role, quote_ident(current_database()) AS database,
           (SELECT min(quote_ident(pg_get_userbyid(c.relowner))) FROM pg_class c
             WHERE c.relnamespace IN ('gateway'::regnamespace, 'platform'::regnamespace) AND c.relkind = 'r'
               AND NOT pg_has_role(c.relowner, 'USAGE')) AS owner,
           r.rolsuper OR r.rolreplication AS replicates,
           r.rolsuper OR EXISTS (SELECT FROM pg_roles p WHERE p.rolname = 'pg_create_subscription'
                                    AND pg_has_role(p.oid, 'USAGE')) AS subscribes,
           has_database_privilege(current_database(), 'CREATE') AS creates,
           has_parameter_privilege('session_replication_role', 'SET') AS quiet
      FROM pg_sequence s, pg_roles r
     WHERE s.seqrelid = pg_get_serial_sequence('platform.organization', 'tenant')::regclass AND r.rolname = current_user`);
  if (!row) throw new Error('the facts of a cell returned no row');
  return row;
}
