/** MiB of one source: while its reader waits, and when a hostile helpdesk has filled it (measured in test/hostile). */
export const READER = { waiting: 33, full: 200 };
//# sourceMappingURL=memory.js.map