import { type Fragment, sql } from '../../core/sql.ts';

/** The origin of an answer: the server, and how much of the write-ahead log the server had replayed. For `written`. */
export interface Origin {
  readonly lineage: string;
  readonly replayed: string;
}

/**
 * Two positions in the write-ahead log, in bytes. FLUSHED is the end of the log that the primary has flushed and so may
 * have streamed. REPLAYED is the end of the log that a replica has replayed.
 */
export const FLUSHED: Fragment = sql`pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint`;
export const REPLAYED: Fragment = sql`pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint`;

/**
 * Returns SQL that identifies the data of a server by cluster, database and timeline. A replica reports the timeline of
 * its last restart point. After a failover, the replica is used again when it has made a restart point.
 */
const lineageOf = (timeline: Fragment): Fragment =>
  sql`(SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() || ' ' || ${timeline}`;
export const PRIMARY_LINEAGE = lineageOf(sql`left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)`);
export const REPLICA_LINEAGE = lineageOf(
  sql`(SELECT upper(lpad(to_hex(timeline_id), 8, '0')) FROM pg_control_checkpoint())`,
);

/**
 * Returns SQL that the primary runs to check an answer of the replica. The result is true when the primary has written
 * all data of the answer. It is false when the primary was promoted and started a separate log, and null when the
 * server is no primary.
 */
export const written = ({ lineage, replayed }: Origin): Fragment =>
  sql`CASE WHEN NOT pg_is_in_recovery() THEN ${PRIMARY_LINEAGE} = ${lineage} AND ${FLUSHED} >= ${replayed}::bigint END`;

/**
 * The state of the primary's log at one moment. `at` is the moment on this process's clock, and `now` is the moment on
 * the primary's clock. `position` is the end of the flushed log.
 */
export interface Mark {
  readonly at: number;
  readonly now: Date;
  readonly lineage: string;
  readonly position: number;
}

/**
 * SQL that checks a mark, which is a log position of the primary at some moment. True when the server is a replica of
 * the primary and has replayed the log up to the mark.
 */
export const passing = ({ lineage, position }: Pick<Mark, 'lineage' | 'position'>): Fragment =>
  sql`(SELECT pg_is_in_recovery() AND ${REPLICA_LINEAGE} = ${lineage} AND ${REPLAYED} >= ${position}::bigint AS ok) guard`;
