/** The token of the demo organization and its first website. The token is shown once. */
export interface DemoAccess {
  readonly token: string;
  readonly website: string;
}

/** Returns a configuration for MCP clients. /docs shows other forms. */
export const clientConfiguration = (baseUrl: string, token: string): object => ({
  mcpServers: {
    'installation-gateway': { type: 'http', url: `${baseUrl}/mcp`, headers: { Authorization: `Bearer ${token}` } },
  },
});

/** The text for the first start: a call over REST, a configuration of an MCP client, and the address of /docs. */
export const welcome = (baseUrl: string, { token, website }: DemoAccess): string => `
A demo organization was loaded. Its test token is shown only now. The data folder keeps it in demo-token.json:

  ${token}

A first read:

  curl -s -H 'Authorization: Bearer ${token}' '${baseUrl}/api/v1/conversations?website_id=${website}&limit=3'

For an MCP client (other clients: ${baseUrl}/docs):

${indented(JSON.stringify(clientConfiguration(baseUrl, token), null, 2))}

Documentation: ${baseUrl}/docs
`;

/** The text for later starts. It does not show the token. If the demo's token file exists, the text names the file. */
export const addresses = (baseUrl: string, tokenFile: string | undefined): string => `
Documentation: ${baseUrl}/docs
For an MCP client: ${JSON.stringify(clientConfiguration(baseUrl, 'YOUR_TOKEN'))}
${tokenFile === undefined ? '' : `The demo’s test token is in ${tokenFile}.\n`}`;

const indented = (text: string): string => text.replaceAll(/^/gm, '  ');
