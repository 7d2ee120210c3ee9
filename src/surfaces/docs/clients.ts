import { code, type Html, html } from '../http/html.ts';

const NAME = 'installation-gateway';
/** A place that the client fills in, as its configuration spells one. */
const variable = (name: string): string => `\${${name}}`;
const json = (value: object): string => JSON.stringify(value, null, 2);

/** Set-up of MCP clients. Their formats differ in small ways; each is the one of the client's own documentation. */
export function mcpClients(baseUrl: string): Html {
  const url = `${baseUrl}/mcp`;
  const { protocol, hostname } = new URL(baseUrl);
  // The bridge refuses plain HTTP to other machines unless it is told.
  const plain = protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return html`
<h3 id="claude-code">Claude Code</h3>
${code('Terminal', `claude mcp add --transport http ${NAME} ${url} \\\n  --header "Authorization: Bearer $TOKEN"`)}
<p>The header comes last: that option takes every word after it.</p>

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
<p>This file starts local programs only, so <code>mcp-remote</code> carries the calls over HTTP.</p>

<h3 id="cursor">Cursor</h3>
${code(
  '~/.cursor/mcp.json',
  json({ mcpServers: { [NAME]: { url, headers: { Authorization: `Bearer ${variable('env:GATEWAY_TOKEN')}` } } } }),
)}
<p>Set <code>GATEWAY_TOKEN</code> in the environment from which Cursor is started.</p>

<h3 id="vs-code">VS Code</h3>
${code(
  '.vscode/mcp.json',
  json({
    inputs: [{ type: 'promptString', id: 'gateway-token', description: 'Installation Gateway token', password: true }],
    servers: { [NAME]: { type: 'http', url, headers: { Authorization: `Bearer ${variable('input:gateway-token')}` } } },
  }),
)}
<p>VS Code asks for the token once and keeps it out of the file.</p>

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
  `npx @modelcontextprotocol/inspector --cli ${url} --transport http \\
  --method tools/list --header "Authorization: Bearer $TOKEN"`,
)}`;
}

/** A first task, by hand and with the SDK. */
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
<p>The answer waits for the end of the task. The same <code>messageId</code> sent again answers with the same task.</p>

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
