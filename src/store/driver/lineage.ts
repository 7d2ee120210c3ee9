import { type Fragment, sql } from '../../core/sql.ts';

/**
 * The guard of a statement on a replica: one row with the column `ok`. `now` is the time that the statement must use as
 * the current time.
 */
export interface Standing {
  readonly guard: Fragment;
  readonly now: Fragment;
}

/**
 * A streaming replica for reads whose data can be some seconds old. Its answers count only after the primary has proved
 * the caller's authority.
 */
export interface Replica {
  /** True when the replica answers and has all data that is older than `lag`. */
  current(): boolean;
  /**
   * Runs `SELECT … statement` on the replica and returns the first row with its origin. The guard of `standing` checks
   * that the server is a replica of the primary. The guard also checks that the replica has all data that the primary
   * had at `now`. Returns `undefined` when the caller must ask the primary. Returns `undefined` at once when the
   * replica becomes unusable during the read.
   */
  read<Row extends object>(statement: (standing: Standing) => Fragment): Promise<(Row & Origin) | undefined>;
  close(): Promise<void>;
}

/** Tells from which server an answer comes, and how much of the write-ahead log the server had replayed. */
export interface Origin {
  readonly lineage: string;
  readonly replayed: string;
}

/**
 * Write-ahead log positions in bytes. FLUSHED: the primary flushed, and may have streamed, up to here. REPLAYED: a
 * replica replayed up to here.
 */
export const FLUSHED: Fragment = sql`pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint`;
export const REPLAYED: Fragment = sql`pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint`;

/**
 * SQL for cluster, database and timeline of a server. A replica reports the timeline of its last restart point. So
 * after a failover, it is used only from its next restart point on.
 */
const lineageOf = (timeline: Fragment): Fragment =>
  sql`(SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() || ' ' || ${timeline}`;
export const PRIMARY_LINEAGE = lineageOf(sql`left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)`);
export const REPLICA_LINEAGE = lineageOf(
  sql`(SELECT upper(lpad(to_hex(timeline_id), 8, '0')) FROM pg_control_checkpoint())`,
);

/**
 * SQL with which the primary checks an answer of the replica. True: it wrote all this data. False: it was promoted and
 * has a log of its own. Null: it is no primary.
 */
export const written = ({ lineage, replayed }: Origin): Fragment =>
  sql`CASE WHEN NOT pg_is_in_recovery() THEN ${PRIMARY_LINEAGE} = ${lineage} AND ${FLUSHED} >= ${replayed}::bigint END`;

/** The end of the primary's flushed log at one moment: `at` by this process's clock, `now` by the primary's. */
export interface Mark {
  readonly at: number;
  readonly now: Date;
  readonly lineage: string;
  readonly position: number;
}

/** SQL: true if the server is a replica of the primary and has replayed the log up to the mark. */
export const passing = ({ lineage, position }: Pick<Mark, 'lineage' | 'position'>): Fragment =>
  sql`(SELECT pg_is_in_recovery() AND ${REPLICA_LINEAGE} = ${lineage} AND ${REPLAYED} >= ${position}::bigint AS ok) guard`;
