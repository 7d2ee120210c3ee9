/** MCP versions that the gateway serves, the preferred one first. */
export const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;
export type Version = (typeof VERSIONS)[number];

/** The version of a request without MCP-Protocol-Version, as MCP defines it. */
export const ASSUMED: Version = '2025-03-26';

export const versionOf = (text: unknown): Version | undefined => VERSIONS.find((version) => version === text);
