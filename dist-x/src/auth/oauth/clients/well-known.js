/**
 * The URLs of documents that many people use, on hosts that the gateway believes by default. Each URL has its own limit
 * for requests, so that strangers cannot close the authorize page for its client. A URL whose host the operator does
 * not believe has no effect. Other documents get their own limit after their first fetch. For example, ChatGPT makes a
 * new URL for each connector.
 */
export const WELL_KNOWN = new Set([
    'https://claude.ai/oauth/claude-code-client-metadata',
    'https://claude.ai/oauth/mcp-oauth-client-metadata',
    'https://chatgpt.com/oauth/codex/client.json',
    'https://vscode.dev/oauth/client-metadata.json',
]);
//# sourceMappingURL=well-known.js.map