import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, it } from 'vitest';
import { corrected, REPORT, SAID, servedGateway, TOOLS, WRONG } from './gateway.ts';

const gateway = servedGateway();
const PROXY = join(dirname(createRequire(import.meta.url).resolve('mcp-remote/package.json')), 'dist/proxy.js');

it('mcp-remote: a client that starts local programs reads what was wrong, and corrects the call', async () => {
  const transport = new StdioClientTransport({
    command: process.execPath,
    // The header of the documents: a space inside the argument would be cut by some clients.
    args: [PROXY, `${gateway.url}/mcp`, '--header', `Authorization:\${AUTH_HEADER}`],
    env: { AUTH_HEADER: gateway.headers.Authorization },
    stderr: 'ignore',
  });
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  expect((await client.listTools()).tools).toHaveLength(TOOLS);
  const call = (input: Record<string, unknown>) => client.callTool({ name: REPORT, arguments: input });
  const error = await call(WRONG).catch((thrown: unknown) => String(thrown));
  expect(error).toContain(SAID);
  expect(await call(corrected(String(error)))).toMatchObject({ isError: false });
  await client.close();
});
