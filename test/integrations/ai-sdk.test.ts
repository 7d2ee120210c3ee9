import { createMCPClient } from '@ai-sdk/mcp';
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { expect, it } from 'vitest';
import { corrected, REPORT, SAID, servedGateway, TOOLS, WRONG } from './gateway.ts';

const gateway = servedGateway();

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
