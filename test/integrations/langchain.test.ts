import { AIMessage } from '@langchain/core/messages';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { expect, it } from 'vitest';
import { REPORT, servedGateway, TOOLS, WRONG } from './gateway.ts';

const gateway = servedGateway();

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
