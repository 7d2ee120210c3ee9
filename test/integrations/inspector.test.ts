import { expect, it } from 'vitest';
import { type Ended, onlyLoopback, run } from '../support/loopback.ts';
import { corrected, REPORT, SAID, servedGateway, TOOLS, WRONG } from './gateway.ts';

const gateway = servedGateway();

async function inspect(method: string, ...more: string[]): Promise<Ended> {
  const address = ['--cli', `${gateway.url}/mcp`, '--transport', 'http', '--method', method, ...more];
  const header = ['--header', `Authorization: ${gateway.headers.Authorization}`];
  const ended = await run('@modelcontextprotocol/inspector', [...address, ...header], import.meta.url);
  onlyLoopback(ended);
  return ended;
}

const call = (name: string, input: Readonly<Record<string, unknown>>): Promise<Ended> => {
  const values = Object.entries(input).flatMap(([argument, value]) => ['--tool-arg', `${argument}=${value}`]);
  return inspect('tools/call', '--tool-name', name, ...values);
};

it('the MCP inspector’s command line: lists, calls, writes, reads a resource, and tells what was wrong', async () => {
  const plan = {
    path: '/ai/features/aif_1_1_5',
    expected_version: 3,
    changes: '{"enabled":false}',
    idempotency_key: 'k',
  };
  const [list, read, lost, write, wrong] = await Promise.all([
    inspect('tools/list'),
    inspect('resources/read', '--uri', 'gateway://context'),
    call('conversation', { conversation_id: 'cnv_1_1_77777' }),
    call('config_plan', { website_id: 'web_1_1', ...plan }),
    call(REPORT, WRONG),
  ]);
  expect([list, read, lost, write, wrong].map(({ code }) => code)).toEqual([0, 0, 5, 0, 1]);
  expect(JSON.parse(list.stdout).tools).toHaveLength(TOOLS);
  expect(JSON.parse(JSON.parse(read.stdout).contents[0].text)).toMatchObject({ principal: 'app_installation' });
  expect(JSON.parse(lost.stdout)).toMatchObject({ isError: true, structuredContent: { error: { code: 'not_found' } } });
  expect(JSON.parse(write.stdout).structuredContent).toMatchObject({
    data: { data: { preview: { changes: [{ field: 'enabled', from: true, to: false }] } } },
    operation_id: expect.stringMatching(/^op_/),
  });
  expect(JSON.parse(wrong.stderr)).toMatchObject({ error: { message: SAID } });
  const right = await call(REPORT, corrected(wrong.stderr));
  expect([right.code, JSON.parse(right.stdout).isError]).toEqual([0, false]);
}, 60_000);

it.each(['legacy', 'auto', 'modern'])(
  'the MCP inspector in the era %s: skills are listed, read and verified',
  async (era) => {
    const uri = 'skill://event-recovery/SKILL.md';
    const [list, verified, one, text, lost] = await Promise.all([
      inspect('skills/list', '--protocol-era', era),
      inspect('skills/list', '--protocol-era', era, '--verify', '--require-digests'),
      inspect('skills/get', '--protocol-era', era, '--uri', uri),
      inspect('resources/read', '--protocol-era', era, '--uri', uri),
      inspect('skills/get', '--protocol-era', era, '--uri', 'skill://event_recovery/SKILL.md'),
    ]);
    expect([list.code, verified.code, one.code, text.code], list.stderr + verified.stderr).toEqual([0, 0, 0, 0]);
    expect(lost.code).not.toBe(0);
    const { skills } = JSON.parse(list.stdout);
    expect(skills).toHaveLength(11);
    const entry = skills.find((skill: { uri: string }) => skill.uri === uri);
    expect(JSON.parse(one.stdout).skill ?? JSON.parse(one.stdout)).toMatchObject(entry);
    const [{ text: markdown }] = JSON.parse(text.stdout).contents;
    expect(Buffer.byteLength(markdown)).toBe(entry.resources[0].size);
    const reports = verified.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(reports.map(({ outcome }) => outcome)).toEqual(Array(11).fill('verified'));
    expect(verified.stderr).toContain('Verified 11 skills and 11 files: no conformance errors.');
  },
  60_000,
);

it.each(['legacy', 'auto', 'modern'])(
  'the MCP inspector in the era %s: lists and calls',
  async (era) => {
    const [list, call] = await Promise.all([
      inspect('tools/list', '--protocol-era', era),
      inspect('tools/call', '--protocol-era', era, '--tool-name', 'websites_list'),
    ]);
    expect([list.code, call.code], list.stderr + call.stderr).toEqual([0, 0]);
    expect(JSON.parse(list.stdout).tools).toHaveLength(TOOLS);
    expect(JSON.parse(call.stdout).isError).toBe(false);
    // Only results of MCP 2026-07-28 name the server.
    expect(call.stdout.includes('io.modelcontextprotocol/serverInfo')).toBe(era !== 'legacy');
  },
  60_000,
);
