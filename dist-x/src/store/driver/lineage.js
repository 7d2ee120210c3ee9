import { sql } from '../../core/sql.js';
/**
 * Write-ahead log positions in bytes. FLUSHED: the primary flushed, and may have streamed, up to here. REPLAYED: a
 * replica replayed up to here.
 */
export const FLUSHED = sql `pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint`;
export const REPLAYED = sql `pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint`;
/**
 * SQL for cluster, database and timeline of a server. A replica reports the timeline of its last restart point. So
 * after a failover, it is used only from its next restart point on.
 */
const lineageOf = (timeline) => sql `(SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() || ' ' || ${timeline}`;
export const PRIMARY_LINEAGE = lineageOf(sql `left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)`);
export const REPLICA_LINEAGE = lineageOf(sql `(SELECT upper(lpad(to_hex(timeline_id), 8, '0')) FROM pg_control_checkpoint())`);
/**
 * SQL with which the primary checks an answer of the replica. True: it wrote all this data. False: it was promoted and
 * has a log of its own. Null: it is no primary.
 */
export const written = ({ lineage, replayed }) => sql `CASE WHEN NOT pg_is_in_recovery() THEN ${PRIMARY_LINEAGE} = ${lineage} AND ${FLUSHED} >= ${replayed}::bigint END`;
/** SQL: true if the server is a replica of the primary and has replayed the log up to the mark. */
export const passing = ({ lineage, position }) => sql `(SELECT pg_is_in_recovery() AND ${REPLICA_LINEAGE} = ${lineage} AND ${REPLAYED} >= ${position}::bigint AS ok) guard`;
//# sourceMappingURL=lineage.js.map