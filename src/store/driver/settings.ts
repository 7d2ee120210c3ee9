export interface ConnectOptions {
  readonly target: string | { host: string; port: number; database: string; username: string; password?: string };
  /**
   * The server's address, if `target` is a pooler in transaction mode. LISTEN uses it, and the pooler gets no settings.
   * Statements are prepared only if the pooler's address has `prepare=true`.
   */
  readonly direct?: string | undefined;
  readonly connections: number;
  /** Milliseconds after which PostgreSQL cancels a statement of this pool. */
  readonly statementTimeout: number;
  readonly name: string;
  /**
   * True for a foreign server, such as a helpdesk's database. `target` is an address. The server's messages are checked
   * before the driver reads them, and JSON and arrays arrive as text.
   */
  readonly foreign?: boolean;
  /** True for a pool that only looks up rows by key. It always uses indexes, even if tables were small when planned. */
  readonly keyed?: boolean;
  /** True for the gateway's own store: answers of a standby are errors, and such pools share one limit of attempts. */
  readonly primary?: boolean;
  /** True for the pool whose statements wait for a standby (open/fence.ts). A silent one tells of a primary that is cut off. */
  readonly confirms?: boolean;
}

/** The settings of every connection. PgBouncer accepts only the first three (manual of PgBouncer). */
export const sessionSettings = ({
  name,
  statementTimeout,
  direct,
  keyed,
}: ConnectOptions): Record<string, string | number> => ({
  application_name: name,
  TimeZone: 'UTC',
  // The views send times as text in the ISO style.
  DateStyle: 'ISO',
  ...(direct === undefined && {
    statement_timeout: statementTimeout,
    // No other time-out limits the work at a commit (07_capture.sql).
    lock_timeout: statementTimeout,
    // If the gateway falls silent inside a transaction, PostgreSQL must release the row locks.
    idle_in_transaction_session_timeout: 30_000,
    // Release them too if the gateway vanishes from a TCP connection. Seconds before the first probe, seconds between
    // probes, number of probes.
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 3,
    // A function that waits for a lock must see the changes that were committed during the wait.
    default_transaction_isolation: 'read committed',
    // JIT compiling took longer than running in every measured statement, by 2.5 s in one of an import.
    jit: 'off',
    // By default, PostgreSQL plans a statement with arrays again at each call, so force a generic plan. A plan made for
    // a small table would scan the table even after it has grown, so scans are off.
    ...(keyed === true && { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }),
  }),
});
