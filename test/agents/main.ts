import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import postgres from 'postgres';
import { packageRoot } from '../../src/config/package.ts';
import { openDatabase } from '../../src/store/driver/postgres.ts';
import { openEmbedded } from '../../src/store/embedded/embedded.ts';
import { start } from '../bench/processes.ts';
import { freePort } from '../support/port.ts';
import { type Attempt, attempt, type Desk, plant, type ServerKind, tauOf } from './desk.ts';
import { asking, modelOf } from './driver.ts';
import { markdownOf, summaryOf } from './report.ts';
import { following, SOLUTIONS } from './solver.ts';
import { TASKS } from './tasks.ts';

/**
 * `npm run bench:agents` gives thirty tasks to the scripted solver, or to the model that the environment names:
 * docs/agents-benchmark.md. It starts a gateway with the demo in a folder of its own, and writes report.md, report.json
 * and the tasks to dist/agents/.
 */
const { values: options } = parseArgs({
  options: {
    server: { type: 'string', default: 'mcp,plain' },
    path: { type: 'string', default: '/mcp' },
    runs: { type: 'string' },
    only: { type: 'string' },
    out: { type: 'string', default: fileURLToPath(new URL('dist/agents', packageRoot)) },
  },
});
const model = modelOf(process.env);
const runs = Number(options.runs ?? (model ? 4 : 1));
const servers = (['mcp', 'plain'] as const).filter((one) => options.server.split(',').includes(one));
const tasks = TASKS.filter(
  ({ id, kind }) => !options.only || options.only.split(',').some((one) => one === id || one === kind),
);
if (!Number.isInteger(runs) || runs < 1 || servers.length === 0 || tasks.length === 0) {
  throw new Error('--runs takes a whole number, --server mcp or plain or both, --only ids or kinds of tasks');
}

async function run(desk: Desk): Promise<Attempt[]> {
  const all: Attempt[] = [];
  const agentOf = (server: ServerKind, task: string) => (model ? asking(model) : following(SOLUTIONS[server][task]));
  // A run of all tasks comes before the next, and the servers take turns, so that a slow hour hits both.
  for (let one = 1; one <= runs; one++) {
    for (const task of tasks) {
      for (const server of servers) {
        const trial = { server, path: options.path, run: one };
        const made = await attempt(desk, task, trial, agentOf(server, task.id));
        all.push(made);
        const { passed, calls, received, end } = made;
        process.stderr.write(
          `${one} ${task.id} ${server}: ${passed ? 'passed' : end}, ${calls} calls, ${received} bytes\n`,
        );
      }
    }
  }
  return all;
}

const dataDir = mkdtempSync(join(tmpdir(), 'gateway-agents-'));
const port = await freePort();
const main = fileURLToPath(new URL('dist/src/main.js', packageRoot));
const own = { GATEWAY_DATA_DIR: dataDir, PORT: String(port), LOG_LEVEL: 'silent', DATABASE_URL: '', GATEWAY_KEYS: '' };
const gateway = await start(main, ['serve'], { ...own, AGENT_API_KEY: '' });
const store = await openEmbedded({ dataDir, log: () => undefined });
const target = { host: store.host, port: store.port, database: 'gateway', username: 'postgres' };
const db = openDatabase({ target, connections: 2, statementTimeout: 60_000, name: 'agents' });
const sql = postgres({ ...target, max: 2, onnotice: () => undefined });
const desk: Desk = { url: `http://127.0.0.1:${port}`, sql, db };
try {
  await plant(desk, new Date());
  mkdirSync(options.out, { recursive: true });
  writeFileSync(
    join(options.out, 'tasks.json'),
    JSON.stringify(await Promise.all(tasks.map((one) => tauOf(desk, one))), null, 2),
  );
  const attempts = await run(desk);
  const by = model ? `${model.model}, ${runs} runs` : 'the scripted solver';
  const markdown = markdownOf(`Agents benchmark: ${by}, MCP at ${options.path}`, attempts);
  const { key: _, ...settings } = model ?? { key: '' };
  const report = {
    at: new Date(),
    settings: { ...settings, ...options, runs },
    summary: summaryOf(attempts),
    attempts,
  };
  writeFileSync(join(options.out, 'report.json'), JSON.stringify(report, null, 2));
  writeFileSync(join(options.out, 'report.md'), markdown);
  process.stdout.write(markdown);
} finally {
  await Promise.all([db.close(), sql.end()]);
  await gateway.stop();
  await store.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
