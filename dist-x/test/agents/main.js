import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import postgres from 'postgres';
import { packageRoot } from '../../src/config/package.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { openEmbedded } from '../../src/store/embedded/embedded.js';
import { start } from '../bench/processes.js';
import { freePort } from '../support/port.js';
import { attempt, plant, tauOf } from './desk.js';
import { asking, modelOf } from './driver.js';
import { markdownOf, summaryOf } from './report.js';
import { solving } from './solver.js';
import { TASKS } from './tasks.js';
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
const model = settingsOrEnd();
const runs = Number(options.runs ?? (model ? 4 : 1));
const servers = ['mcp', 'plain'].filter((one) => options.server.split(',').includes(one));
const tasks = TASKS.filter(({ id, kind }) => !options.only || options.only.split(',').some((one) => one === id || one === kind));
if (!Number.isInteger(runs) || runs < 1 || servers.length === 0 || tasks.length === 0) {
    end('--runs takes a whole number, --server takes mcp or plain or both, --only takes ids or kinds of tasks.');
}
function end(why) {
    process.stderr.write(`${why}\n`);
    process.exit(2);
}
function settingsOrEnd() {
    try {
        return modelOf(process.env);
    }
    catch (error) {
        return end(error instanceof Error ? error.message : String(error));
    }
}
const agentOf = (server, task) => (model ? asking(model) : solving(server, task));
async function run(desk) {
    const all = [];
    let markdown = '';
    // A run of all tasks comes before the next, and the servers take turns, so that a slow hour hits both.
    for (let one = 1; one <= runs; one++) {
        for (const task of tasks) {
            for (const server of servers) {
                const made = await attempt(desk, task, { server, path: options.path, run: one }, agentOf(server, task.id));
                all.push(made);
                const { passed, calls, received, end } = made;
                const told = `${passed ? 'passed' : end}, ${calls} calls, ${received} bytes`;
                process.stderr.write(`${one} ${task.id} ${server}: ${told}\n`);
            }
        }
        // After each run, so that an interrupted benchmark keeps the runs that it has finished.
        markdown = save(all, one);
    }
    return markdown;
}
function save(attempts, finished) {
    const by = model ? `${model.model}, ${finished} runs` : 'the scripted solver';
    const markdown = markdownOf(`Agents benchmark: ${by}, MCP at ${options.path}`, attempts);
    const settings = { ...model, key: undefined, ...options, runs: finished };
    write('report.json', JSON.stringify({ at: new Date(), settings, summary: summaryOf(attempts), attempts }, null, 2));
    write('report.md', markdown);
    return markdown;
}
function write(name, text) {
    mkdirSync(options.out, { recursive: true });
    writeFileSync(join(options.out, name), text);
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
const desk = { url: `http://127.0.0.1:${port}`, sql, db };
try {
    await plant(desk, new Date());
    write('tasks.json', JSON.stringify(await Promise.all(tasks.map((one) => tauOf(desk, one))), null, 2));
    process.stdout.write(await run(desk));
}
finally {
    await Promise.all([db.close(), sql.end()]);
    await gateway.stop();
    await store.stop();
    rmSync(dataDir, { recursive: true, force: true });
}
//# sourceMappingURL=main.js.map