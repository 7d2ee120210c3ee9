/** The MCP versions that the gateway serves. The preferred version comes first. */
export const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;
export type Version = (typeof VERSIONS)[number];

/** The version of an MCP request without the header MCP-Protocol-Version. MCP prescribes this version. */
export const ASSUMED: Version = '2025-03-26';

export const versionOf = (text: unknown): Version | undefined => VERSIONS.find((version) => version === text);
