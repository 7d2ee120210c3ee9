/** Schema of the registry's documents; a newer one is a change of this file. */
const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';

/**
 * server.json of the MCP registry: where a client finds the MCP endpoint of somebody's gateway and what it must send.
 * Everyone runs a gateway of their own, so its host is a variable. The schema wants the scheme written out, and the
 * registry refuses an address template that another entry has, hence the variable's long name.
 */
export const serverJson = (version: string): object => ({
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
          description: 'Host of the gateway, with its port where that is not 443.',
          isRequired: true,
          placeholder: 'gateway.example.com',
        },
      },
      headers: [
        {
          name: 'Authorization',
          description: 'The installation token that the gateway’s operator has issued.',
          value: 'Bearer {token}',
          isRequired: true,
          isSecret: true,
          variables: {
            token: {
              description: 'Installation token: igw_live_… or igw_test_….',
              isRequired: true,
              isSecret: true,
            },
          },
        },
      ],
    },
  ],
});
