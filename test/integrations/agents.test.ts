import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createMCPClient } from '@ai-sdk/mcp';
import { AIMessage } from '@langchain/core/messages';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Agent, MCPServerStreamableHttp, type Model, Runner, Usage } from '@openai/agents';
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { expect, it } from 'vitest';
import { corrected, REPORT, SAID, servedGateway, TOOLS, WRONG } from './gateway.ts';

/** The MCP clients of agent frameworks, and the proxy for clients that start local programs. */
const gateway = servedGateway();
const PROXY = join(dirname(createRequire(import.meta.url).resolve('mcp-remote/package.json')), 'dist/proxy.js');

it('Vercel AI SDK: a model reads what was wrong, and corrects the call', async () => {
  const transport = { type: 'http', url: `${gateway.url}/mcp`, headers: gateway.headers } as const;
  const client = await createMCPClient({ transport });
  const tools = await client.tools();
  expect(Object.keys(tools)).toHaveLength(TOOLS);

  const read: string[] = [];
  const model = new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const [last] = prompt.flatMap(({ role, content }) => (role === 'tool' ? content : [])).slice(-1);
      if (last?.type === 'tool-result') read.push(JSON.stringify(last.output));
      const input = JSON.stringify(last ? corrected(read.at(-1) ?? '') : WRONG);
      const call = { type: 'tool-call', toolCallId: `call-${read.length}`, toolName: REPORT, input } as const;
      const more = read.length < 2;
      return {
        content: [more ? call : { type: 'text', text: 'Done.' }],
        finishReason: { unified: more ? 'tool-calls' : 'stop', raw: undefined },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
        warnings: [],
      };
    },
  });
  const { text } = await generateText({ model, tools, prompt: 'How many today?', stopWhen: stepCountIs(5) });
  await client.close();
  expect(text).toBe('Done.');
  expect(JSON.parse(read[0] ?? '')).toEqual({ type: 'error-text', value: SAID });
  expect(read[1]).toContain('ai_evidenced_conversations');
});

it('LangChain adapters: the tool node of LangGraph gives the model what was wrong', async () => {
  const client = new MultiServerMCPClient({
    mcpServers: { gateway: { url: `${gateway.url}/mcp`, headers: gateway.headers } },
  });
  const tools = await client.getTools();
  expect(tools).toHaveLength(TOOLS);

  const node = new ToolNode(tools);
  /** What the model reads after its call. */
  const call = async (name: string, args: Record<string, unknown>): Promise<string> => {
    const tool_calls = [{ name, args, id: 'call-1', type: 'tool_call' as const }];
    const { messages } = await node.invoke({ messages: [new AIMessage({ content: '', tool_calls })] });
    return JSON.stringify(messages.at(-1));
  };
  // LangChain checks enumerations itself before it sends the call.
  expect(await call(REPORT, WRONG)).toContain('did not match expected schema');
  expect(await call(REPORT, { ...WRONG, range: 'today' })).toContain('ai_evidenced_conversations');
  // Only the gateway checks the form of an id.
  const refused = await call('conversation_messages', { conversation_id: '11' });
  expect(refused).toContain('Expected for conversation_id: an id such as cnv_1_1_42.');
  expect(await call('conversation_messages', { conversation_id: 'cnv_1_1_11' })).toContain('persisted_messages');
  await client.close();
});

it('OpenAI Agents SDK: a model reads what was wrong, and corrects the call', async () => {
  const server = new MCPServerStreamableHttp({
    url: `${gateway.url}/mcp`,
    requestInit: { headers: gateway.headers },
    errorFunction: ({ error }) => String(error),
  });
  await server.connect();
  expect(await server.listTools()).toHaveLength(TOOLS);

  const read: string[] = [];
  const model: Model = {
    async getResponse({ input }) {
      const last = typeof input === 'string' ? undefined : input.at(-1);
      if (last?.type === 'function_call_result') read.push(JSON.stringify(last.output));
      const args = JSON.stringify(read.length > 0 ? corrected(read.at(-1) ?? '') : WRONG);
      const call = { type: 'function_call', callId: `call-${read.length}`, name: REPORT, arguments: args } as const;
      const said = { type: 'message', role: 'assistant', status: 'completed' } as const;
      const done = { ...said, content: [{ type: 'output_text', text: 'Done.' } as const] };
      return { usage: new Usage(), output: [read.length < 2 ? call : done] };
    },
    getStreamedResponse: () => expect.fail('not streamed'),
  };
  const agent = new Agent({ name: 'Analyst', model, mcpServers: [server] });
  const { finalOutput } = await new Runner({ tracingDisabled: true }).run(agent, 'How many today?');
  await server.close();
  expect(finalOutput).toBe('Done.');
  expect(read[0]).toContain(SAID);
  expect(read[1]).toContain('ai_evidenced_conversations');
});

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
