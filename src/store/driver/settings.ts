import type { ConnectOptions } from './postgres.ts';

/** What a session of ours begins with. A pooler has sessions of its own, and knows three of these (pgbouncer's manual). */
export const sessionSettings = ({
  name,
  statementTimeout,
  direct,
  keyed,
}: ConnectOptions): Record<string, string | number> => ({
  application_name: name,
  TimeZone: 'UTC',
  // Times of views travel as text of this style.
  DateStyle: 'ISO',
  ...(direct === undefined && {
    statement_timeout: statementTimeout,
    // What is done at a commit (0011_journal.sql) has no time-out but this one.
    lock_timeout: statementTimeout,
    // A server of ours that is cut off must not keep row locks.
    idle_in_transaction_session_timeout: 30_000,
    // Over TCP, neither must one that has vanished without a word: seconds until the first probe, between probes, probes.
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 3,
    // Functions that wait for a lock have to see what was committed meanwhile.
    default_transaction_isolation: 'read committed',
    // Compiling a plan took longer than running it, in every statement looked at (an import's by 2.5 s).
    jit: 'off',
    // A plan of arrays is never taken for the cheaper one, and a plan made while a table was small goes on to scan it.
    ...(keyed === true && { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }),
  }),
});
