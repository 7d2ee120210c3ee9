import { SERVED } from './versions.js';
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
/**
 * Milliseconds that a client may keep a result. Short for lists, because an operator can change the credential's policy
 * at any time. 0 for a resource, which holds data. Other methods have no caching members.
 */
const FRESH = new Map([
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
/** The answer to `server/discover`. */
export async function discover(mcpRequest, discovered) {
    await mcpRequest.admit();
    return { supportedVersions: SERVED, ...discovered };
}
/** Adds the further members of MCP 2026-07-28. Every result depends on the credential, so its cache is private. */
export function modernResult(method, result, server) {
    const ttlMs = FRESH.get(method);
    return {
        resultType: 'complete',
        ...result,
        ...(ttlMs !== undefined && { ttlMs, cacheScope: 'private' }),
        _meta: { ...('_meta' in result && Object(result._meta)), [SERVER_INFO]: server },
    };
}
//# sourceMappingURL=modern.js.map