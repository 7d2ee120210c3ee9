export interface ConnectOptions {
  readonly target: string | { host: string; port: number; database: string; username: string; password?: string };
  /**
   * The direct address of the server, when `target` is a pooler in transaction mode. For such a pooler, the gateway
   * sends no settings, and LISTEN uses the direct address. Statements are prepared only when the pooler's address has
   * `prepare=true`.
   */
  readonly direct?: string | undefined;
  readonly connections: number;
  /** Milliseconds after which PostgreSQL cancels a statement of this pool. */
  readonly statementTimeout: number;
  readonly name: string;
  /**
   * True for the server of somebody else, such as the database of a helpdesk. `target` is then an address. What the server
   * sends is checked before the driver reads it, and JSON and arrays arrive as text.
   */
  readonly foreign?: boolean;
  /**
   * True for a pool that only looks up rows by key. Its statements always use the indexes, even if the tables were
   * small when PostgreSQL planned the statements.
   */
  readonly keyed?: boolean;
  /** True for the gateway's own store. An answer of a standby then fails, and all such pools share one bound of attempts. */
  readonly primary?: boolean;
}

/**
 * The settings of every connection. A pooler gets only the first three settings, because PgBouncer does not accept the
 * other settings (manual of PgBouncer).
 */
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
    // No other time-out limits the work at a commit (0005_capture.sql).
    lock_timeout: statementTimeout,
    // If PostgreSQL hears nothing from the gateway in the middle of a transaction, PostgreSQL must release the row
    // locks.
    idle_in_transaction_session_timeout: 30_000,
    // If the gateway vanishes from a TCP connection, PostgreSQL must also release the row locks. The values: seconds
    // until the first probe, seconds between probes, number of probes.
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 3,
    // A function that waits for a lock must see the changes that were committed during the wait.
    default_transaction_isolation: 'read committed',
    // JIT compiles the plan of a statement before the statement runs. In every measured statement, compiling took
    // longer than running. In one statement of an import, the difference was 2.5 s.
    jit: 'off',
    // By default, PostgreSQL plans a statement with arrays again at each call, so a generic plan is forced. A generic
    // plan that was made for a small table would scan the whole table, even after the table has grown. So table scans
    // are off.
    ...(keyed === true && { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }),
  }),
});
