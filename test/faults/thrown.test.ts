import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, vi } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';
import type { Answer } from '../support/answer.ts';
import { cursorOf, subscriptionId } from '../support/authority/planted.ts';
import { checkout, main, shellEnvironment } from '../support/command.ts';
import { CONTRACT_SKILLS } from '../support/contract.ts';
import { type Issued, issue } from '../support/credentials.ts';
import { addressOf, freshDatabase, type TestDatabase } from '../support/database.ts';
import { doctor } from '../support/doctor.ts';
import { itOnce as it, itInFull } from '../support/form.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { startReplica } from '../support/replica.ts';
import { rpc as a2a, work } from '../support/surfaces/a2a.ts';
import { rpc as mcp } from '../support/surfaces/mcp.ts';
import { examples, requestOf, urlOf, WEB, writer } from '../support/surfaces/wire.ts';

/**
 * Check F-23. When a handler throws, the caller gets the usual 500 problem without the thrown text, and the process
 * continues. An uncaught rejection is logged, and the process continues. An uncaught error is logged and ends the process
 * in order, with an exit code for its supervisor.
 */
const SECRET = 'planted-7f3a';
const THROWN: readonly unknown[] = [
  new Error(`SELECT * FROM platform.contact -- ${SECRET}`),
  Object.assign(new TypeError(SECRET), { code: 'ERR_INVALID_ARG_TYPE', cause: new Error(SECRET) }),
  SECRET,
  undefined,
];

describe('F-23 a handler that throws', () => {
  let gateway: TestGateway;
  let holder: Issued;
  beforeAll(async () => {
    gateway = await openTestGateway();
    holder = await writer(gateway);
  });
  afterEach(() => vi.restoreAllMocks());
  afterAll(async () => {
    expect(await doctor(gateway.database)).toEqual([]);
    await gateway.close();
  });

  const hidden = ({ text, headers }: Answer, where: string): void =>
    expect(text + JSON.stringify(headers), where).not.toMatch(
      new RegExp(`${SECRET}|\\bat .+:\\d+|TypeError|node_modules`),
    );

  it('F-23 every operation, over REST and MCP: 500 as a problem, logged as an error, and the next call is served', async () => {
    const { token, credential } = holder;
    const mine = { '{subscription_id}': subscriptionId(credential), after: cursorOf(credential) };
    const known = new Map((await examples(gateway)).map((one) => [one.tool.name, one]));
    let thrown = 0;
    for (const tool of gateway.corridor.registry.tools) {
      const { path, query, body } = known.get(tool.name) ?? {
        path: tool.path.replace('{subscription_id}', mine['{subscription_id}']),
        query: [],
        body: tool.method === 'DELETE' ? undefined : definition,
      };
      const spy = vi.spyOn(tool, 'handle');
      for (const what of THROWN) {
        spy.mockRejectedValueOnce(what);
        const options = requestOf({ body }, { token, method: tool.method, unchecked: true });
        const headers = { ...options.headers, ...(tool.ifMatch && { 'if-match': '1' }) };
        const answer = await gateway.ask(urlOf(path, query), { ...options, headers });
        const where = `${tool.name} ${String(what)}: ${answer.text}`;
        expect([answer.status, answer.headers['content-type']], where).toEqual([500, 'application/problem+json']);
        expect(answer.body, where).toMatchObject({ status: 500, code: 'internal' });
        expect(answer.body.request_id).toBe(answer.headers['x-request-id']);
        hidden(answer, where);
        thrown++;
      }
      spy.mockImplementationOnce(() => {
        throw new Error(SECRET);
      });
      const input = Object.fromEntries(
        [...tool.path.matchAll(/\{(\w+)\}/g)].map(([part, name = '']) => [
          name,
          path.split('/')[tool.path.split('/').indexOf(part)],
        ]),
      );
      const params = {
        name: tool.name,
        arguments: {
          ...input,
          ...Object.fromEntries(query),
          ...body,
          ...(tool.idempotency === 'required' && { idempotency_key: `thrown-${thrown}` }),
          ...(tool.ifMatch && { if_match: 1 }),
        },
      };
      const answer = await mcp(gateway.port, token, 'tools/call', params);
      expect(answer.body.result?.structuredContent.error, `${tool.name} ${answer.text}`).toMatchObject({
        code: 'internal',
        status: 500,
      });
      hidden(answer, tool.name);
      spy.mockRestore();
    }
    expect((await gateway.ask('/api/v1/context', { token })).status).toBe(200);
    const errors = gateway.log.filter((line) => line.includes('"level":50'));
    expect(thrown).toBe(gateway.corridor.registry.tools.length * THROWN.length);
    expect(errors.length).toBe(thrown + gateway.corridor.registry.tools.length);
    console.info(`F-23: ${thrown} throws over REST, ${errors.length} errors in the log`);
  });

  const definition = {
    website_ids: [WEB],
    event_types: ['conversation.*'],
    ...{ payload_mode: 'thin', delivery: { mode: 'pull' }, start: 'retained' },
  };

  it('F-23 a skill: its task has failed, with the code and nothing else', async () => {
    const inputs: Readonly<Record<string, object>> = {
      support_insights: { website_id: WEB, range: 'today' },
      conversation_evidence: { conversation_id: 'cnv_1_1_2' },
      configuration_inspection: { website_id: WEB, path: '/ai/features' },
      contact_inspection: { contact_id: 'ctc_1_1_1' },
      offline_language_detection: {
        ...{ feature_id: 'aif_1_1_5', expected_version: 3 },
        context: { type: 'text', text: 'Wo ist mein Paket?' },
      },
      customer_lookup: { name: 'a' },
      conversation_search: { query: 'tent' },
      conversation_handover: { conversation_id: 'cnv_1_1_2' },
    };
    expect(Object.keys(inputs)).toEqual(Object.keys(CONTRACT_SKILLS));
    for (const [name, input] of Object.entries(inputs)) {
      const tool = gateway.corridor.registry.get(CONTRACT_SKILLS[name]?.runs ?? '') ?? expect.fail(name);
      vi.spyOn(tool, 'handle').mockRejectedValueOnce(new Error(SECRET));
      const answer = await a2a(gateway.port, holder.token, 'SendMessage', work(name, input));
      const { status, artifacts } = answer.body.result?.task ?? expect.fail(answer.text);
      expect([status.state, status.message.parts[0].data.code, artifacts], name).toEqual([
        'TASK_STATE_FAILED',
        'internal',
        undefined,
      ]);
      hidden(answer, name);
      const next = await a2a(gateway.port, holder.token, 'SendMessage', work(name, input));
      expect(next.body.result.task.status.state, name).toBe('TASK_STATE_COMPLETED');
    }
    // The test expects these DEFECT lines, so remove them from the log. Any DEFECT line that is left at the end makes
    // the test file fail.
    const told = gateway.log.filter((line) => line.startsWith('DEFECT tasks'));
    expect(told).toEqual(Object.keys(inputs).map(() => `DEFECT tasks Error: ${SECRET}`));
    for (const [i, line] of gateway.log.entries()) if (told.includes(line)) gateway.log[i] = '';
  });
});

describe('F-23 unhandled rejections and uncaught exceptions', () => {
  const SLOW = 700;
  let database: TestDatabase;
  let folder: string;
  let token: string;
  let app: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gateway-thrown-'));
    database = await freshDatabase('demo');
    ({ token, app } = await issue(database.sql, 1));
  });
  afterAll(async () => {
    expect(await doctor(database)).toEqual([]);
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A gateway whose third call in a process is slow, and whose fourth call does harm. */
  async function harmed(harm: string, args: readonly string[] = []) {
    const planted = join(folder, 'planted.mjs');
    const tool = pathToFileURL(join(fileURLToPath(packageRoot), 'dist/tools/discovery/gateway-context.js'));
    writeFileSync(
      planted,
      `import cluster from 'node:cluster';
       const { default: tool } = await import(${JSON.stringify(tool)});
       const { handle } = tool;
       // Of several workers, only the first does harm.
       let calls = cluster.isPrimary || cluster.worker.id === 1 ? 0 : 10;
       tool.handle = async (context) => {
         const own = ++calls; // the count goes on while the slow call waits
         if (own === 3) await new Promise((done) => setTimeout(done, ${SLOW}));
         if (own === 4) ${harm};
         return handle(context);
       };`,
    );
    const replica = await startReplica({
      databaseUrl: addressOf(database),
      args,
      env: { NODE_OPTIONS: `--import ${pathToFileURL(planted)}`, LOG_LEVEL: 'error' },
    });
    const ask = (): Promise<number | string> =>
      fetch(`${replica.url}/api/v1/context`, {
        headers: { authorization: `Bearer ${token}`, connection: 'close' },
      }).then(
        ({ status }) => status,
        () => 'lost',
      );
    /** The line about the error, which names its place and not its text. */
    const told = async (what: string): Promise<void> => {
      await expect.poll(replica.log).toContain(what);
      const line =
        replica
          .log()
          .split('\n')
          .find((one) => one.includes(what)) ?? '';
      expect(line).toContain('planted.mjs:');
      expect(line).not.toContain(SECRET);
    };
    return { replica, ask, told };
  }

  it('F-23 a rejection is logged with its place, and the process goes on', async () => {
    const { replica, ask, told } = await harmed(`Promise.reject(new Error("${SECRET}"))`);
    expect([await ask(), await ask()]).toEqual([200, 200]);
    const running = ask();
    expect([await ask(), await running, await ask()]).toEqual([200, 200, 200]);
    await told('unhandled rejection');
    const lines = replica.log().split('\n');
    expect(lines.filter((line) => /unhandled rejection|uncaught exception/.test(line)).slice(1)).toEqual([]);
    expect(await replica.end()).toEqual({ code: 0, signal: null });
  });

  it('F-23 an error in a callback is logged with its place, running requests end, and then the process', async () => {
    const { replica, ask, told } = await harmed(`setImmediate(() => { throw new Error("${SECRET}"); })`);
    expect([await ask(), await ask()]).toEqual([200, 200]);
    const running = ask();
    await new Promise((resolve) => setTimeout(resolve, SLOW / 3));
    const began = performance.now();
    expect([await ask(), await running]).toEqual([200, 200]);
    expect(await replica.exited).toEqual({ code: 1, signal: null });
    expect(performance.now() - began).toBeLessThan(5_000);
    await told('uncaught exception');
    const socket = connect(Number(new URL(replica.url).port), '127.0.0.1');
    const [error] = await once(socket, 'error');
    expect(error.code).toBe('ECONNREFUSED');
  });

  itInFull('F-23 an error in a callback of a worker ends this worker, and another takes its place', async () => {
    const harm = `setImmediate(() => { throw new Error("${SECRET}"); })`;
    const { replica, ask, told } = await harmed(harm, ['--workers', '2']);
    const statuses = new Set<number | string>();
    for (let i = 0; i < 12; i++) statuses.add(await ask());
    expect([...statuses]).toEqual([200]);
    await told('uncaught exception');
    await expect.poll(replica.log, { timeout: 10_000 }).toContain('a worker ended and is replaced');
    await expect.poll(ask, { timeout: 10_000 }).toBe(200);
    expect(await replica.end()).toEqual({ code: 0, signal: null });
  });

  it('F-23 on the command line, an error says where and not what', async () => {
    const planted = join(folder, 'planted.mjs');
    const ran = (harm: string) => {
      // The error comes once the command line has begun, and before it has connected.
      writeFileSync(
        planted,
        `const timer = setInterval(() => { if (process.listenerCount('uncaughtException') > 0) { clearInterval(timer); ${harm}; } }, 1);`,
      );
      return spawnSync(process.execPath, ['--import', String(pathToFileURL(planted)), main, 'app', 'list'], {
        cwd: checkout,
        encoding: 'utf8',
        env: shellEnvironment({ DATABASE_URL: addressOf(database) }),
      });
    };
    const rejected = ran(`Promise.reject(new Error("${SECRET}"))`);
    expect([rejected.status, rejected.stdout]).toEqual([0, expect.stringContaining(app)]);
    const thrown = ran(`throw new Error("${SECRET}")`);
    expect(thrown.status).toBe(1);
    for (const { stdout, stderr } of [rejected, thrown]) {
      expect(stderr).toMatch(/^gateway: The command failed unexpectedly: Error\n.*planted\.mjs:1/);
      expect(stdout + stderr).not.toContain(SECRET);
    }
  });
});
