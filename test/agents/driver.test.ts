import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';
import { itOnce as it, itInFull } from '../support/form.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Attempt, attempt, type Desk, type ServerKind } from './desk.ts';
import { asking, type ModelSettings, modelOf } from './driver.ts';
import { markdownOf, summaryOf } from './report.ts';
import { meanOf, passTogether } from './score.ts';
import { TASKS } from './tasks.ts';

/** What the scripted model says to a request: a call, a text, or something that no model should send. */
type Line =
  | { readonly call: string; readonly args: unknown }
  | { readonly text: string }
  | { readonly refusal: true }
  | { readonly status: number; readonly retryAfter?: string }
  | { readonly raw: string }
  | { readonly hang: true };

const KEY = 'sk-secret-of-the-test';
let gateway: TestGateway;
let desk: Desk;
/** Chooses the next line from the number of the request and its body as text. */
let script: (n: number, body: string) => Line;
let requests: { path: string; headers: IncomingMessage['headers']; body: string }[] = [];

/** One model behind both addresses, as a server on the loopback. */
const model = createServer((request, response) => {
  let body = '';
  request.on('data', (part: Buffer) => {
    body += part;
  });
  request.on('end', () => {
    requests.push({ path: request.url ?? '', headers: request.headers, body });
    say(response, request.url === '/v1/messages' ? 'anthropic' : 'openai', script(requests.length, body));
  });
});

function say(response: ServerResponse, api: ModelSettings['api'], line: Line): void {
  const json = (body: object): void => void response.end(JSON.stringify(body));
  if ('hang' in line) return;
  if ('raw' in line) return void response.end(line.raw);
  if ('status' in line) {
    response.writeHead(line.status, line.retryAfter === undefined ? {} : { 'retry-after': line.retryAfter });
    return void response.end(`no: ${KEY}`);
  }
  if (api === 'openai') {
    const content = 'text' in line ? line.text : null;
    const args = 'call' in line && (typeof line.args === 'string' ? line.args : JSON.stringify(line.args));
    const called = 'call' in line && [{ id: 'c1', type: 'function', function: { name: line.call, arguments: args } }];
    const message = { content, ...(called && { tool_calls: called }), ...('refusal' in line && { refusal: 'No.' }) };
    json({ choices: [{ message, finish_reason: 'stop' }], usage: { prompt_tokens: 100, completion_tokens: 10 } });
  } else {
    const content = 'text' in line ? [{ type: 'text', text: line.text }] : [];
    const called = 'call' in line ? [{ type: 'tool_use', id: 'c1', name: line.call, input: line.args }] : [];
    const usage = { input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 10 };
    json({ content: [...content, ...called], stop_reason: 'refusal' in line ? 'refusal' : 'end_turn', usage });
  }
}

beforeAll(async () => {
  gateway = await openTestGateway('demo');
  const { sql, db } = gateway.database;
  desk = { url: `http://127.0.0.1:${gateway.port}`, sql, db };
  await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  model.closeAllConnections();
  model.close();
  await gateway.close();
});

const task = TASKS.find(({ id }) => id === 'open-with-nobody') ?? TASKS[0];
const OPEN = { status: 'unassigned,assigned,pending,snoozed', operator_id: 'none' };
const CALL = { call: 'conversations_count', args: OPEN };

function ask(api: ModelSettings['api'], lines: typeof script, server: ServerKind = 'mcp', more = {}): Promise<Attempt> {
  if (!task) throw new Error('no task');
  script = lines;
  requests = [];
  const { port } = model.address() as AddressInfo; // it listens on TCP
  const env = { AGENT_BASE_URL: `http://127.0.0.1:${port}/`, AGENT_API_KEY: KEY, AGENT_MODEL: 'scripted' };
  const settings = modelOf({ AGENT_API: api, ...env, AGENT_TURNS: '3', AGENT_SECONDS: '20', ...more });
  if (!settings) throw new Error('no model');
  return attempt(desk, task, { server, path: '/mcp', run: 1 }, asking(settings));
}

/** Calls the tool, and reads the total from the answer in the next request. */
const honest = (n: number, body: string): Line => {
  const total = /total\\*":(\d+)/.exec(body)?.[1];
  return n === 1 || total === undefined ? CALL : { text: `I counted.\n\n**Answer:** ${total} conversations` };
};

describe.each(['openai', 'anthropic'] as const)('a model behind the %s interface', (api) => {
  it.each(['mcp', 'plain'] as const)('uses the tools of %s and answers', async (server) => {
    const told = await ask(api, honest, server);
    expect(told).toMatchObject({ passed: true, inBudget: true, end: 'answered', calls: 1, malformed: 0 });
    expect(told.tokens).toEqual({ input: 200, output: 20 });
    expect([told.received > 0, told.opening > 10_000, told.sent > 0]).toEqual([true, true, true]);
    expect(told.read <= told.received).toBe(true);
    const [first] = requests;
    expect(requests.map(({ path }) => path)).toEqual(
      Array(2).fill(api === 'openai' ? '/chat/completions' : '/v1/messages'),
    );
    expect(first?.headers[api === 'openai' ? 'authorization' : 'x-api-key']).toContain(KEY);
    expect(first?.body).toContain('How many open conversations have no operator?');
    // A client of MCP hands the server's instructions to its model.
    expect(first?.body.includes('Stored customer-support data')).toBe(server === 'mcp');
    expect(JSON.parse(first?.body ?? '').tools.length).toBeGreaterThan(20);
  });

  it('waits when the server is busy, and tries again', async () => {
    const told = await ask(api, (n, body) => (n === 1 ? { status: 429, retryAfter: '0' } : honest(n - 1, body)));
    expect(told).toMatchObject({ passed: true, calls: 1 });
    expect(requests).toHaveLength(3);
  });

  it('is told of arguments that are no object, and of a tool that does not exist', async () => {
    const wrong = (n: number): Line =>
      n === 1
        ? { call: 'conversations_count', args: '{"status": ' }
        : n === 2
          ? { call: 'drop_tables', args: {} }
          : { text: 'Answer: 0' };
    expect(await ask(api, wrong)).toMatchObject({
      passed: false,
      end: 'answered',
      malformed: 1,
      calls: 1,
      missing: [expect.stringMatching(/^\^\d+$/)],
    });
    expect(requests[1]?.body).toContain('The arguments are not a JSON object.');
    expect(requests[2]?.body).toMatch(/drop_tables/);
  });

  it.each<[string, Line, Partial<Attempt>]>([
    ['an error', { status: 400 }, { end: 'failed', fault: 'status 400: no: ***' }],
    ['a server that stays busy', { status: 503, retryAfter: '0' }, { end: 'failed', fault: 'status 503: no: ***' }],
    ['a page instead of JSON', { raw: '<html>' }, { end: 'failed' }],
    ['an empty object', { raw: '{}' }, { end: 'failed' }],
    ['a reply without words', { text: ' ' }, { end: 'failed', fault: 'neither a text nor a call' }],
    ['a refusal', { refusal: true }, { end: 'refused', fault: 'the model refused' }],
    ['calls without end', CALL, { end: 'turns', fault: 'no answer after 3 replies', calls: 3 }],
  ])('%s is a failure of the attempt, not of the run', async (_, line, told) => {
    expect(await ask(api, () => line)).toMatchObject({ passed: false, ...told });
  });

  it('a model that never answers is left after the time of an attempt', async () => {
    const told = await ask(api, () => ({ hang: true }), 'mcp', { AGENT_SECONDS: '0.3' });
    expect(told).toMatchObject({ passed: false, end: 'timeout', fault: 'no answer after 0.3 s' });
    expect(told.seconds).toBeLessThan(10);
  });
});

it('a server that is not there is a failure of the attempt', async () => {
  const told = await ask('openai', honest, 'mcp', { AGENT_BASE_URL: 'http://127.0.0.1:1' });
  expect(told).toMatchObject({ passed: false, end: 'failed', fault: 'fetch failed' });
});

it('settings that are wrong are named, and without a model there is none', () => {
  expect(modelOf({})).toBeUndefined();
  expect(() => modelOf({ AGENT_API: 'telepathy' })).toThrow(/AGENT_API.*AGENT_BASE_URL.*AGENT_MODEL/s);
  const env = { AGENT_API: 'openai', AGENT_BASE_URL: 'https://api.example/v1/', AGENT_MODEL: 'm' };
  expect(modelOf(env)).toMatchObject({ baseUrl: 'https://api.example/v1', turns: 20, seconds: 180, key: '' });
  expect(() => modelOf({ ...env, AGENT_BASE_URL: 'file:///etc/passwd' })).toThrow(/AGENT_BASE_URL/);
  expect(() => modelOf({ ...env, AGENT_BASE_URL: 'https://me:secret@api.example/v1' })).toThrow(/AGENT_BASE_URL/);
  // Otherwise the scripted solver would run, and its figures would pass for those of the model.
  expect(() => modelOf({ ...env, AGENT_API: undefined })).toThrow(/AGENT_API/);
});

describe('npm run bench:agents', () => {
  const command = (
    args: readonly string[],
    env: NodeJS.ProcessEnv,
  ): Promise<{ code: number; out: string; err: string }> =>
    new Promise((resolve) => {
      const main = fileURLToPath(new URL('dist/test/agents/main.js', packageRoot));
      execFile(process.execPath, [main, ...args], { env: { ...process.env, ...env } }, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), out, err }),
      );
    });

  it('says what is wrong with its settings and options', async () => {
    const [settings, tasks] = await Promise.all([
      command([], { AGENT_API: 'telepathy' }),
      command(['--only', 'nothing'], {}),
    ]);
    expect(settings).toMatchObject({ code: 2, err: expect.stringMatching(/^AGENT_API: .*; AGENT_MODEL: /) });
    expect(tasks).toMatchObject({ code: 2, err: expect.stringContaining('--only takes ids or kinds of tasks') });
  });

  itInFull('gives a model the tasks four times, and writes tasks and reports without the key', async () => {
    script = honest;
    requests = [];
    const folder = mkdtempSync(join(tmpdir(), 'agents-'));
    const { port } = model.address() as AddressInfo; // it listens on TCP
    const env = {
      AGENT_API: 'anthropic',
      AGENT_BASE_URL: `http://127.0.0.1:${port}`,
      AGENT_API_KEY: KEY,
      AGENT_MODEL: 'm',
    };
    const { code, out, err } = await command(['--only', 'open-with-nobody,busiest', '--out', folder], env);
    expect(code, err).toBe(0);
    expect(out).toMatch(/^# Agents benchmark: m, 4 runs, MCP at \/mcp\n/);
    expect(out).toMatch(/\| pass\^4 \| 0\.5 \[/);
    const [tasks, json, markdown] = ['tasks.json', 'report.json', 'report.md'].map((name) =>
      readFileSync(join(folder, name), 'utf8'),
    );
    rmSync(folder, { recursive: true });
    expect(markdown).toBe(out);
    expect(JSON.parse(json ?? '')).toMatchObject({
      settings: { model: 'm', runs: 4 },
      summary: [
        { server: 'mcp', attempts: 8 },
        { server: 'plain', attempts: 8 },
      ],
    });
    expect(JSON.parse(tasks ?? '').map(({ id }: { id: string }) => id)).toEqual(['open-with-nobody', 'busiest']);
    expect(out + err + tasks + json).not.toContain(KEY);
  });
});

describe('figures', () => {
  it('pass^k is the unbiased estimate, with Wilson’s interval over tasks', () => {
    const runs = [
      [true, true, true, false],
      [true, true, true, true],
      [false, false, false, false],
    ];
    expect(passTogether(runs, 1)?.value).toBeCloseTo((0.75 + 1) / 3);
    expect(passTogether(runs, 2)?.value).toBeCloseTo((0.5 + 1) / 3);
    expect(passTogether(runs, 4)?.value).toBeCloseTo(1 / 3);
    expect(passTogether([[true]], 4)).toBeUndefined();
    const all = passTogether(Array(30).fill([true, true, true, true]), 4);
    expect([all?.value, all?.from.toFixed(4), all?.to]).toEqual([1, '0.8865', 1]);
  });

  it('the mean has a bootstrap interval around it, the same in each run', () => {
    const calls = [
      [1, 1],
      [2, 4],
      [3, 3],
      [10, 10],
    ];
    const { value, from, to } = meanOf(calls);
    expect([value, from < value, value < to, from >= 1, to <= 10]).toEqual([4.25, true, true, true, true]);
    expect(meanOf(calls)).toEqual({ value, from, to });
    expect(meanOf([[5], [5]])).toEqual({ value: 5, from: 5, to: 5 });
  });

  it('the report counts failures, and shows both servers side by side', async () => {
    const all: Attempt[] = [];
    for (const server of ['mcp', 'plain'] as const) {
      for (const lines of [honest, honest, honest, () => ({ refusal: true }) as const]) {
        all.push({ ...(await ask('openai', lines, server)), run: all.length });
      }
    }
    const [mcp, plain] = summaryOf(all);
    expect([mcp?.server, plain?.server]).toEqual(['mcp', 'plain']);
    expect(mcp).toMatchObject({ attempts: 4, inBudget: 3, faults: { refused: 1 } });
    expect([mcp?.passed1?.value, mcp?.passed4?.value]).toEqual([0.75, 0]);
    const text = markdownOf('A test', all);
    expect(text).toMatch(/\| pass\^1 \| 0\.75 \[[\d.]+, [\d.]+\] \| 0\.75 /);
    expect(text).toMatch(/\| open-with-nobody \| 3 of 4 \| 0\.8 \|/);
    expect(text).toMatch(/^- open-with-nobody, mcp, run 3, refused: the model refused; missing: \^\d+$/m);
    expect(text).not.toContain(KEY);
  });
});
