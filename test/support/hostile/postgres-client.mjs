import { monitorEventLoopDelay } from 'node:perf_hooks';
import { argv, cpuUsage, env, memoryUsage, stdout } from 'node:process';

/**
 * Asks a hostile PostgreSQL server, each case with its own pool, and prints what happened. In its own process, an
 * endless loop or a crash is a finding and not the end of the tests.
 *
 * Arguments: the address of the compiled gateway, the port, the cases as JSON, the milliseconds of a statement, the
 * number of cases at once. PLANTED=1 switches the check of the server's messages off.
 */
const [, , root = '', port = '', list = '[]', patience = '300', together = '12'] = argv;
const { openDatabase } = await import(`${root}/src/store/driver/postgres.js`);
const { sql } = await import(`${root}/src/core/sql.js`);
if (env['PLANTED'] === '1') {
  const { ServerMessages } = await import(`${root}/src/store/driver/wire.js`);
  ServerMessages.prototype.take = (chunk) => chunk;
}
const uncaught = [];
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error) => uncaught.push(`${event} ${error?.stack?.split('\n').slice(0, 3).join(' | ')}`));
const delay = monitorEventLoopDelay({ resolution: 5 });
// The longest work between two turns of the event loop, in processor time. Other programs do not count.
let [peak, longest, before] = [0, 0, cpuUsage()];
const watch = setInterval(() => {
  const { user, system } = cpuUsage(before);
  longest = Math.max(longest, (user + system) / 1_000);
  before = cpuUsage();
  peak = Math.max(peak, memoryUsage.rss());
}, 5);
const statementTimeout = Number(patience);

async function ask({ name, way, query = '' }) {
  const target = `postgres://reader:correct-horse@127.0.0.1:${port}/${name}${query}`;
  const db = openDatabase({ target, connections: 1, statementTimeout, name: 'fuzz', foreign: true });
  const began = performance.now();
  let [said, rows] = ['', 0];
  try {
    if (way === 'script') await db.script('SELECT 1');
    else if (way === 'listen') {
      const listening = db.listen('channel', () => rows++);
      await new Promise((resolve) => setTimeout(resolve, 400));
      await listening.close();
    } else {
      rows = (await db.query(sql`SELECT ${1}::integer AS a, 'x' AS b`)).length;
      // The second run takes the prepared statement.
      if (way === 'twice') rows += (await db.query(sql`SELECT ${1}::integer AS a, 'x' AS b`)).length;
    }
  } catch (error) {
    said = `${error.name} ${error.code ?? error.cause?.code ?? ''} ${error.name === 'ForeignServerRefused' ? error.message : ''}`;
  }
  const took = performance.now() - began;
  // As in the gateway, nobody waits for the end of the pool.
  db.close().catch(() => undefined);
  return { name, said, rows, took };
}

const cases = JSON.parse(list);
const found = [];
delay.enable();
before = cpuUsage();
longest = 0;
await Promise.all(
  Array.from({ length: Number(together) }, async () => {
    for (let one = cases.shift(); one; one = cases.shift()) found.push(await ask(one));
  }),
);
// Wait for late events of these connections.
await new Promise((resolve) => setTimeout(resolve, 300));
delay.disable();
clearInterval(watch);
stdout.write(JSON.stringify({ found, uncaught, longest, wall: delay.max / 1e6, peak: peak / 2 ** 20 }), () =>
  process.exit(0),
);
