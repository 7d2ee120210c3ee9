import { type Fragment, sql } from '../../core/sql.ts';

/** Tells from which server an answer comes, and how much of the write-ahead log the server had replayed. */
export interface Origin {
  readonly lineage: string;
  readonly replayed: string;
}

/**
 * Positions in the write-ahead log, in bytes. FLUSHED: the primary has flushed the log up to this position, and may
 * have streamed it. REPLAYED: a replica has replayed the log up to this position.
 */
export const FLUSHED: Fragment = sql`pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint`;
export const REPLAYED: Fragment = sql`pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint`;

/**
 * SQL that identifies the data of a server by cluster, database and timeline. A replica reports the timeline of its
 * last restart point. So after a failover, the replica is used again only after its next restart point.
 */
const lineageOf = (timeline: Fragment): Fragment =>
  sql`(SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() || ' ' || ${timeline}`;
export const PRIMARY_LINEAGE = lineageOf(sql`left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)`);
export const REPLICA_LINEAGE = lineageOf(
  sql`(SELECT upper(lpad(to_hex(timeline_id), 8, '0')) FROM pg_control_checkpoint())`,
);

/**
 * SQL with which the primary checks an answer of the replica. True: the primary has written all data of the answer.
 * False: the primary was promoted and has started a separate log. Null: the server is no primary.
 */
export const written = ({ lineage, replayed }: Origin): Fragment =>
  sql`CASE WHEN NOT pg_is_in_recovery() THEN ${PRIMARY_LINEAGE} = ${lineage} AND ${FLUSHED} >= ${replayed}::bigint END`;

/**
 * The end of the primary's flushed log at one moment. `at`: the moment on this process's clock. `now`: the same moment
 * on the primary's clock.
 */
export interface Mark {
  readonly at: number;
  readonly now: Date;
  readonly lineage: string;
  readonly position: number;
}

/**
 * SQL that is true when the server is a replica of the primary and has replayed the log up to the mark (an earlier log
 * position of the primary).
 */
export const passing = ({ lineage, position }: Pick<Mark, 'lineage' | 'position'>): Fragment =>
  sql`(SELECT pg_is_in_recovery() AND ${REPLICA_LINEAGE} = ${lineage} AND ${REPLAYED} >= ${position}::bigint AS ok) guard`;
