// Stands in for Claude Code: takes the arguments of `claude mcp add`, and connects with them as Claude Code does.
import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { transport: { type: 'string' }, header: { type: 'string', multiple: true, default: [] } },
});
const [group, verb, name, url, ...more] = positionals;
if (`${group} ${verb} ${values.transport}` !== 'mcp add http' || !name || more.length > 0) throw new Error('usage');
const headers = Object.fromEntries(values.header.map((header) => header.split(/:\s*/, 2)));
const client = new Client({ name: 'claude', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
console.log(`${name}: ${(await client.listTools()).tools.length} tools`);
await client.close();
