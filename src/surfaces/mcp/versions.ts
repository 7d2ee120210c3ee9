/** Versions of the protocol that are spoken here, the preferred one first (contract, MCP endpoint). */
export const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;
export type Version = (typeof VERSIONS)[number];

/** What a request after `initialize` without MCP-Protocol-Version speaks. */
export const ASSUMED: Version = '2025-03-26';

export const versionOf = (text: unknown): Version | undefined => VERSIONS.find((version) => version === text);
