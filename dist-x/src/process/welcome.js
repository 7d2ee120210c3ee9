export const clientConfiguration = (baseUrl, token) => ({
    mcpServers: {
        'installation-gateway': { type: 'http', url: `${baseUrl}/mcp`, headers: { Authorization: `Bearer ${token}` } },
    },
});
/** The address that a person pastes into a client stands alone in its line, so that nobody misses the address. */
const paste = (baseUrl) => `
Paste this address into your MCP client:

  ${baseUrl}/mcp

What to click   ${baseUrl}/docs/clients
Documentation   ${baseUrl}/docs
`;
/** The link stands alone in its line, so that a click takes the whole of it. */
const toConsole = (link) => link === undefined
    ? ''
    : `\
Console         ${link}
                signs you in as the demo’s owner, once, within 15 minutes.
`;
export const welcome = (baseUrl, { token, website }, link) => `${paste(baseUrl)}\
${toConsole(link)}\
Demo token      ${token}
                is shown only now. The data folder keeps it in demo-token.json.

A first read, and the configuration of a client that takes the token:

  curl -s -H 'Authorization: Bearer ${token}' '${baseUrl}/api/v1/conversations?website_id=${website}&limit=3'

  ${JSON.stringify(clientConfiguration(baseUrl, token))}
`;
/** Shown at every start but the first. Does not contain the demo's token, but names the file with the token, if any. */
export const addresses = (baseUrl, tokenFile, link) => `${paste(baseUrl)}\
${toConsole(link)}\
${tokenFile === undefined ? '' : `Demo token      ${tokenFile}\n`}\
With a token    ${JSON.stringify(clientConfiguration(baseUrl, 'YOUR_TOKEN'))}
`;
//# sourceMappingURL=welcome.js.map