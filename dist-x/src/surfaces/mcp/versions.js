/** The MCP revision without `initialize`. Each request names its version and its client's capabilities. */
export const MODERN = '2026-07-28';
/** The older versions, the preferred one first. A client agrees on one of them with `initialize`. */
export const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26'];
/** The preferred version first. */
export const SERVED = [MODERN, ...LEGACY];
/** MCP prescribes this version for a request without MCP-Protocol-Version. */
export const ASSUMED = '2025-03-26';
export const legacyOf = (text) => LEGACY.find((version) => version === text);
//# sourceMappingURL=versions.js.map