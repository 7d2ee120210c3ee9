import type { McpRequest } from './request.ts';
import { SERVED } from './versions.ts';

/** The parts of the gateway's identity that every result of MCP 2026-07-28 repeats. */
export interface ServerInfo {
  readonly name: string;
  readonly version: string;
}

export interface Discovered {
  readonly capabilities: object;
  readonly instructions: string;
}

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

/**
 * Milliseconds that a client may keep a result. A list depends on the policy of the credential, and an operator can
 * change the policy at any time. A resource holds data, so a client must read the resource again. Methods that are not
 * named here have no caching members.
 */
const FRESH: ReadonlyMap<string, number> = new Map([
  ['server/discover', 3_600_000],
  ['tools/list', 30_000],
  ['prompts/list', 30_000],
  ['resources/list', 30_000],
  ['resources/templates/list', 30_000],
  ['resources/read', 0],
]);

/** The answer to `server/discover`. */
export async function discover(mcpRequest: McpRequest, discovered: Discovered): Promise<object> {
  await mcpRequest.admit();
  return { supportedVersions: SERVED, ...discovered };
}

/**
 * Adds the members that MCP 2026-07-28 wants in a result. Every result depends on the credential, so the cache scope is
 * always private.
 */
export function modernResult(method: string, result: object, server: ServerInfo): object {
  const ttlMs = FRESH.get(method);
  return {
    resultType: 'complete',
    ...result,
    ...(ttlMs !== undefined && { ttlMs, cacheScope: 'private' }),
    _meta: { ...('_meta' in result && Object(result._meta)), [SERVER_INFO]: server },
  };
}
