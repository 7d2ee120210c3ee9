/** Reports about finished calls, for metrics and traces. A report never contains text from a caller. */
export const SURFACES = ['rest', 'mcp', 'a2a', 'oauth', 'record', 'console', 'realtime', 'public'];
//# sourceMappingURL=calls.js.map