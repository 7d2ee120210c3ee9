import { documentOf } from './hosted.js';
export const PROFILES = [
    {
        name: 'Claude web',
        client: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
        document: {
            client_name: 'Claude',
            redirect_uris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
        },
        redirect: 'https://claude.ai/api/mcp/auth_callback',
        scope: (challenged) => `${challenged} offline_access`,
        authorize: { state: 'f0e1d2c3b4a5968778695a4b3c2d1e0f', prompt: 'consent' },
        retries: true,
    },
    {
        name: 'Claude Code',
        client: 'https://claude.ai/oauth/claude-code-client-metadata',
        document: {
            client_name: 'Claude Code',
            redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
        },
        redirect: 'http://localhost:54545/callback',
        scope: (challenged) => challenged,
        authorize: { state: 'Zx81' },
        retries: true,
    },
    {
        name: 'ChatGPT',
        client: 'https://chatgpt.com/oauth/callback-7/client.json',
        document: {
            client_name: 'ChatGPT',
            redirect_uris: ['https://chatgpt.com/connector/oauth/callback-7'],
            token_endpoint_auth_method: 'private_key_jwt',
            token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
            jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
        },
        redirect: 'https://chatgpt.com/connector/oauth/callback-7',
        scope: () => undefined,
        authorize: { state: 'oauth_s_6893f5', nonce: 'n-1' },
        retries: false,
    },
    {
        name: 'Codex',
        client: 'https://chatgpt.com/oauth/codex/client.json',
        document: {
            client_name: 'Codex',
            application_type: 'native',
            redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
        },
        redirect: 'http://127.0.0.1:37819/callback',
        scope: () => undefined,
        authorize: { state: 'c0dex' },
        retries: false,
    },
    {
        name: 'VS Code',
        client: 'https://vscode.dev/oauth/client-metadata.json',
        document: {
            client_name: 'Visual Studio Code',
            application_type: 'native',
            redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
            grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        },
        redirect: 'http://127.0.0.1:51234/',
        scope: (challenged) => challenged,
        authorize: { state: 'vscode%3A%2F%2Fauth' },
        retries: false,
    },
    {
        // Cursor's callbacks are known. Its document is assumed, because Cursor has registered itself dynamically so far.
        name: 'Cursor',
        client: 'https://www.cursor.com/oauth/client.json',
        document: {
            client_name: 'Cursor',
            redirect_uris: [
                'cursor://anysphere.cursor-mcp/oauth/callback',
                'https://www.cursor.com/agents/mcp/oauth/callback',
                'http://localhost:8787/callback',
            ],
        },
        redirect: 'http://localhost:8787/callback',
        scope: (challenged) => challenged,
        authorize: { state: 'cursor-1' },
        retries: true,
    },
];
/** Gives the clients' documents without a network. */
export const fetchProfile = async (url) => {
    const found = PROFILES.find(({ client }) => client === url);
    return found && { json: documentOf(url, found.document), maxAge: undefined };
};
//# sourceMappingURL=profiles.js.map