import { readFileSync } from 'node:fs';
import { packageRoot } from '../../config/package.js';
import { html } from '../http/html.js';
import { code, json2 } from './highlight.js';
import { tabs } from './tabs.js';
const NAME = 'installation-gateway';
const variable = (name) => `\${${name}}`;
/** docs/clients.md, with this gateway's address in place of a checkout's. */
export const clientsText = (baseUrl) => readFileSync(new URL('docs/clients.md', packageRoot), 'utf8').replaceAll('http://127.0.0.1:8420', () => baseUrl);
export const firstCall = (baseUrl) => tabs('first', 'First call', {
    curl: code('Terminal', `export TOKEN=YOUR_TOKEN
curl -s ${baseUrl}/api/v1/context -H "Authorization: Bearer $TOKEN"`, 'bash'),
    TypeScript: code('first-call.ts', `const response = await fetch('${baseUrl}/api/v1/context', {
  headers: { Authorization: \`Bearer \${process.env.TOKEN}\` },
});
console.log(await response.json());`, 'typescript'),
    MCP: code(`POST ${baseUrl}/mcp`, json2({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'gateway_context', arguments: {} } }), 'json'),
});
export function mcpClients(baseUrl) {
    const url = `${baseUrl}/mcp`;
    const { protocol, hostname } = new URL(baseUrl);
    // mcp-remote refuses plain HTTP to another machine without the option `--allow-http`.
    const plain = protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname);
    return tabs('mcp-client', 'MCP client', {
        'Claude Code': html `${code('Terminal', `claude mcp add --transport http ${NAME} ${url} \\\n  --header "Authorization: Bearer $TOKEN"`, 'bash')}<p>Put <code>--header</code> last, because this option takes all words that follow.</p>`,
        'Claude Desktop': html `${code('claude_desktop_config.json', json2(desktop(url, plain)), 'json')}
<p>Claude Desktop starts only local programs from this file. <code>mcp-remote</code> sends their calls over HTTP.</p>`,
        Cursor: html `${code('~/.cursor/mcp.json', json2({ mcpServers: { [NAME]: { url, headers: bearer('env:TOKEN') } } }), 'json')}
<p>Set <code>TOKEN</code> in the environment that starts Cursor. If Cursor asks you to log in instead, write the
configuration of Claude Desktop into this file.</p>`,
        'VS Code': html `${code('.vscode/mcp.json', json2(vsCode(url)), 'json')}
<p>VS Code asks for the token once and does not store it in the file.</p>`,
        TypeScript: code('client.ts, with the MCP SDK', sdkClient(url), 'typescript'),
        Inspector: html `${code('Terminal', `npx -y @modelcontextprotocol/inspector@2.12.0 --cli ${url} --transport http \\
  --method tools/list --header "Authorization: Bearer $TOKEN"`, 'bash')}<p>The inspector asks for Node 22.19. npm warns on an older Node.</p>`,
    });
}
const bearer = (name) => ({ Authorization: `Bearer ${variable(name)}` });
const desktop = (url, plain) => ({
    mcpServers: {
        [NAME]: {
            command: 'npx',
            args: [
                '-y',
                'mcp-remote@0.15.1',
                url,
                ...(plain ? ['--allow-http'] : []),
                '--header',
                `Authorization:${variable('AUTH_HEADER')}`,
            ],
            env: { AUTH_HEADER: 'Bearer YOUR_TOKEN' },
        },
    },
});
const vsCode = (url) => ({
    inputs: [{ type: 'promptString', id: 'gateway-token', description: 'Installation Gateway token', password: true }],
    servers: { [NAME]: { type: 'http', url, headers: bearer('input:gateway-token') } },
});
const sdkClient = (url) => `import { Client } from '@modelcontextprotocol/sdk/client/index.js';
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
console.log(context.structuredContent);`;
export function a2aClients(baseUrl) {
    const data = { skill: 'support_insights', arguments: { website_id: 'web_1_1', range: 'last-7-days' } };
    const parts = [{ data, mediaType: 'application/json' }];
    const params = { message: { messageId: 'report-1', role: 'ROLE_USER', parts } };
    const call = `curl -s ${baseUrl}/a2a -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" -H "A2A-Version: 1.0" \\
  -d '${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })}'`;
    return tabs('a2a-client', 'A2A client', {
        curl: html `${code('Terminal', call, 'bash')}
<p>The call waits for the end of the task. If you send the same <code>messageId</code> again, you get the same task.</p>`,
        TypeScript: code('agent.ts, with the A2A SDK', sdkAgent(baseUrl), 'typescript'),
    });
}
const sdkAgent = (baseUrl) => `import { SendMessageRequest } from '@a2a-js/sdk';
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
          arguments: { website_id: 'web_1_1', range: 'last-7-days' },
        },
      }],
    },
  }),
  { serviceParameters: { Authorization: \`Bearer \${process.env.TOKEN}\` } },
);
console.log(JSON.stringify(task, null, 2));`;
//# sourceMappingURL=clients.js.map