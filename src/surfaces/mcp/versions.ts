/** The MCP versions that the gateway serves, the preferred version first. */
export const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;
export type Version = (typeof VERSIONS)[number];

/** The version that MCP prescribes for a request without the header MCP-Protocol-Version. */
export const ASSUMED: Version = '2025-03-26';

export const versionOf = (text: unknown): Version | undefined => VERSIONS.find((version) => version === text);
