/** The token of the demo organization, which is shown only once, and the organization's first website. */
export interface DemoAccess {
  readonly token: string;
  readonly website: string;
}

export const clientConfiguration = (baseUrl: string, token: string): object => ({
  mcpServers: {
    'installation-gateway': { type: 'http', url: `${baseUrl}/mcp`, headers: { Authorization: `Bearer ${token}` } },
  },
});

export const welcome = (baseUrl: string, { token, website }: DemoAccess): string => `
A demo organization was loaded. Its test token is shown only now. The data folder keeps it in demo-token.json:

  ${token}

A first read:

  curl -s -H 'Authorization: Bearer ${token}' '${baseUrl}/api/v1/conversations?website_id=${website}&limit=3'

For an MCP client (other clients: ${baseUrl}/docs):

${indented(JSON.stringify(clientConfiguration(baseUrl, token), null, 2))}

Documentation: ${baseUrl}/docs
`;

/**
 * The text that is shown at every start except the first start. This text does not contain the demo's token. If the
 * file with the token exists, the text names this file.
 */
export const addresses = (baseUrl: string, tokenFile: string | undefined): string => `
Documentation: ${baseUrl}/docs
For an MCP client: ${JSON.stringify(clientConfiguration(baseUrl, 'YOUR_TOKEN'))}
${tokenFile === undefined ? '' : `The demo’s test token is in ${tokenFile}.\n`}`;

const indented = (text: string): string => text.replaceAll(/^/gm, '  ');
