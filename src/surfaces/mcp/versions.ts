/** The MCP revision without `initialize`. Each request names its version and the capabilities of its client. */
export const MODERN = '2026-07-28';

/** The older MCP versions, the preferred version first. A client agrees on one of them with `initialize`. */
export const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

/** All MCP versions that the gateway serves, the preferred version first. */
export const SERVED = [MODERN, ...LEGACY] as const;
export type Version = (typeof SERVED)[number];

/** The version that MCP prescribes for a request without the header MCP-Protocol-Version. */
export const ASSUMED: Version = '2025-03-26';

export const legacyOf = (text: unknown): Version | undefined => LEGACY.find((version) => version === text);
