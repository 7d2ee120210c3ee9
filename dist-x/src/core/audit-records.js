export const AUDIT_SURFACES = ['rest', 'mcp', 'a2a', 'page', 'cli'];
//# sourceMappingURL=audit-records.js.map