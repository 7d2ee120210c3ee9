/** The settings of every connection. PgBouncer accepts only the first three (manual of PgBouncer). */
export const sessionSettings = ({ name, statementTimeout, direct, keyed, }) => ({
    application_name: name,
    TimeZone: 'UTC',
    // The views send times as text in the ISO style.
    DateStyle: 'ISO',
    ...(direct === undefined && {
        statement_timeout: statementTimeout,
        // No other time-out limits the work at a commit (0006_capture.sql).
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
//# sourceMappingURL=settings.js.map