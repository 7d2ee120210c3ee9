/** What `npm start` prints of the demo organization, once, and keeps in the data folder. */
export interface DemoAccess {
  readonly token: string;
  readonly website: string;
}

/** The first things to do with a new gateway: a call over REST, a client over MCP, the pages to read. */
export function welcome(baseUrl: string, { token, website }: DemoAccess): string {
  const client = {
    mcpServers: {
      'installation-gateway': { type: 'http', url: `${baseUrl}/mcp`, headers: { Authorization: `Bearer ${token}` } },
    },
  };
  return `
A demo organization was loaded. Its test token is shown this once and kept in the data folder (demo-token.json):

  ${token}

A first read:

  curl -s -H 'Authorization: Bearer ${token}' '${baseUrl}/api/v1/conversations?website_id=${website}&limit=3'

For an MCP client (other clients: ${baseUrl}/docs):

${indented(JSON.stringify(client, null, 2))}

Documentation: ${baseUrl}/docs
`;
}

const indented = (text: string): string => text.replaceAll(/^/gm, '  ');
