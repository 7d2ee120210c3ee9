import type { ConnectOptions } from './postgres.ts';

/**
 * The settings of every connection. A pooler has its own connections, and knows three of these (pgbouncer's manual).
 */
export const sessionSettings = ({
  name,
  statementTimeout,
  direct,
  keyed,
}: ConnectOptions): Record<string, string | number> => ({
  application_name: name,
  TimeZone: 'UTC',
  // Views send times as text in this style.
  DateStyle: 'ISO',
  ...(direct === undefined && {
    statement_timeout: statementTimeout,
    // The work at a commit (0005_capture.sql) has no other time-out.
    lock_timeout: statementTimeout,
    // A gateway that is cut off must not keep row locks.
    idle_in_transaction_session_timeout: 30_000,
    // Over TCP, nor must one that vanishes silently. Seconds until the first probe, seconds between probes, probes.
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 3,
    // Functions that wait for a lock must see what was committed meanwhile.
    default_transaction_isolation: 'read committed',
    // Compiling a plan took longer than running it, in every statement measured (an import's by 2.5 s).
    jit: 'off',
    // By default PostgreSQL never prefers a generic plan for arrays, and a plan made for a small table keeps scanning
    // it.
    ...(keyed === true && { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }),
  }),
});
