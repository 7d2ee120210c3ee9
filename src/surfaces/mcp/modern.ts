/** The gateway's identity in every result of MCP 2026-07-28. */
export interface ServerInfo {
  readonly name: string;
  readonly version: string;
}

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

/**
 * Milliseconds that a client may keep a result. Short for lists, because an operator can change the credential's policy
 * at any time. 0 for a resource, which holds data. Other methods have no caching members.
 */
const FRESH: ReadonlyMap<string, number> = new Map([
  ['server/discover', 3_600_000],
  ['tools/list', 30_000],
  ['prompts/list', 30_000],
  ['resources/list', 30_000],
  ['resources/templates/list', 30_000],
  ['events/list', 30_000],
  ['resources/read', 0],
  ['skills/list', 30_000],
  ['skills/get', 30_000],
]);

/** Adds the further members of MCP 2026-07-28. Every result depends on the credential, so its cache is private. */
export function modernResult(method: string, result: object, server: ServerInfo): object {
  const ttlMs = FRESH.get(method);
  return {
    resultType: 'complete',
    ...result,
    ...(ttlMs !== undefined && { ttlMs, cacheScope: 'private' }),
    _meta: { ...('_meta' in result && Object(result._meta)), [SERVER_INFO]: server },
  };
}
