/** MiB that one source takes: while its reader waits, and when a hostile helpdesk has filled it. Measured in test/hostile. */
export const READER = { waiting: 33, full: 200 };
