const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
/**
 * server.json for the MCP registry: the URL of the MCP endpoint and the header that a client must send.
 *
 * Every operator has another host, so the host in the URL is a variable. In the registry's schema, the scheme cannot be
 * a variable. The registry refuses a URL template that another entry has, so the variable has a long, unusual name.
 */
export const serverJson = (version) => ({
    $schema: SCHEMA,
    name: 'io.github.installation-gateway/installation-gateway',
    title: 'Installation Gateway',
    description: 'Stored customer-support data: conversations, contacts, files, reports and AI feature metadata.',
    version,
    remotes: [
        {
            type: 'streamable-http',
            url: 'https://{installation_gateway_host}/mcp',
            variables: {
                installation_gateway_host: {
                    description: 'Host of the gateway. Add the port if the port is not 443.',
                    isRequired: true,
                    placeholder: 'gateway.example.com',
                },
            },
            headers: [
                {
                    name: 'Authorization',
                    description: 'Installation token that the operator of the gateway has issued.',
                    value: 'Bearer {token}',
                    isRequired: true,
                    isSecret: true,
                    variables: {
                        token: {
                            description: 'Installation token. The token starts with igw_live_ or igw_test_.',
                            isRequired: true,
                            isSecret: true,
                        },
                    },
                },
            ],
        },
    ],
});
//# sourceMappingURL=server-json.js.map