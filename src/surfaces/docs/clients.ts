import { code, type Html, html } from '../http/html.ts';

const NAME = 'installation-gateway';
const variable = (name: string): string => `\${${name}}`;
const json = (value: object): string => JSON.stringify(value, null, 2);

export function mcpClients(baseUrl: string): Html {
  const url = `${baseUrl}/mcp`;
  const { protocol, hostname } = new URL(baseUrl);
  // mcp-remote refuses plain HTTP to another machine, unless the option `--allow-http` is given.
  const plain = protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return html`
<h3 id="claude-code">Claude Code</h3>
${code('Terminal', `claude mcp add --transport http ${NAME} ${url} \\\n  --header "Authorization: Bearer $TOKEN"`)}
<p>Put <code>--header</code> last, because this option takes all words that follow.</p>

<h3 id="claude-desktop">Claude Desktop</h3>
${code(
  'claude_desktop_config.json',
  json({
    mcpServers: {
      [NAME]: {
        command: 'npx',
        args: [
          '-y',
          'mcp-remote',
          url,
          ...(plain ? ['--allow-http'] : []),
          '--header',
          `Authorization:${variable('AUTH_HEADER')}`,
        ],
        env: { AUTH_HEADER: 'Bearer YOUR_TOKEN' },
      },
    },
  }),
)}
<p>Claude Desktop starts only local programs from this file. <code>mcp-remote</code> sends their calls over HTTP.</p>

<h3 id="cursor">Cursor</h3>
${code(
  '~/.cursor/mcp.json',
  json({ mcpServers: { [NAME]: { url, headers: { Authorization: `Bearer ${variable('env:GATEWAY_TOKEN')}` } } } }),
)}
<p>Set <code>GATEWAY_TOKEN</code> in the environment that starts Cursor.</p>

<h3 id="vs-code">VS Code</h3>
${code(
  '.vscode/mcp.json',
  json({
    inputs: [{ type: 'promptString', id: 'gateway-token', description: 'Installation Gateway token', password: true }],
    servers: { [NAME]: { type: 'http', url, headers: { Authorization: `Bearer ${variable('input:gateway-token')}` } } },
  }),
)}
<p>VS Code asks for the token once and does not store it in the file.</p>

<h3 id="typescript">TypeScript, with the MCP SDK</h3>
${code(
  'client.ts',
  `import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const client = new Client({ name: 'my-app', version: '1.0.0' });
await client.connect(
  new StreamableHTTPClientTransport(new URL('${url}'), {
    requestInit: { headers: { Authorization: \`Bearer \${process.env.TOKEN}\` } },
  }),
);
const context = await client.callTool({ name: 'gateway_context', arguments: {} });
console.log(context.structuredContent);`,
)}

<h3 id="inspector">MCP Inspector</h3>
${code(
  'Terminal',
  `npx -y @modelcontextprotocol/inspector@2.12.0 --cli ${url} --transport http \\
  --method tools/list --header "Authorization: Bearer $TOKEN"`,
)}`;
}

export function a2aClients(baseUrl: string): Html {
  const data = { skill: 'support_insights', arguments: { website_id: 'WEBSITE_ID', range: 'last-7-days' } };
  const parts = [{ data, mediaType: 'application/json' }];
  const params = { message: { messageId: 'report-1', role: 'ROLE_USER', parts } };
  return html`
<h3 id="a2a-curl">curl</h3>
${code(
  'Terminal',
  `curl -s ${baseUrl}/a2a -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" -H "A2A-Version: 1.0" \\
  -d '${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })}'`,
)}
<p>The call waits for the end of the task. If you send the same <code>messageId</code> again, you get the same task.</p>

<h3 id="a2a-typescript">TypeScript, with the A2A SDK</h3>
${code(
  'agent.ts',
  `import { SendMessageRequest } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';

const client = await new ClientFactory().createFromUrl('${baseUrl}');
const task = await client.sendMessage(
  SendMessageRequest.fromJSON({
    message: {
      messageId: 'report-1',
      role: 'ROLE_USER',
      parts: [{
        mediaType: 'application/json',
        data: {
          skill: 'support_insights',
          arguments: { website_id: 'WEBSITE_ID', range: 'last-7-days' },
        },
      }],
    },
  }),
  { serviceParameters: { Authorization: \`Bearer \${process.env.TOKEN}\` } },
);
console.log(JSON.stringify(task, null, 2));`,
)}`;
}
