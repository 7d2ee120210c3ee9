const KINDS = ['chatwoot'];
export const isSourceKind = (kind) => KINDS.includes(kind);
//# sourceMappingURL=kinds.js.map