import { Agent, MCPServerStreamableHttp, type Model, Runner, Usage } from '@openai/agents';
import { expect, it } from 'vitest';
import { corrected, REPORT, SAID, servedGateway, TOOLS, WRONG } from './gateway.ts';

const gateway = servedGateway();

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
