import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';

/**
 * The writers of the F-09 test, in a program that a test can kill: `node journal-writer.mjs HOST PORT DATABASE FIRST
 * WRITERS ROAD [PACE]`. Each writer has its own connection and visitors, and writes until the program is stopped. Each
 * transaction is one script, so that the driver does not influence it, and records in public.change which websites it
 * changed. With ROAD `outside`, the receipts come in a separate transaction: a planted defect, which the test must
 * find. PACE is the number of milliseconds between two transactions.
 */
const [host = '', port = '', database = '', first = '', writers = '', road = '', pace = '0'] = process.argv.slice(2);
const SITES = [1, 2, 3];
const pick = (/** @type {number} */ n) => Math.floor(Math.random() * n);
const counts = { done: 0, rolledBack: 0, failed: 0, deadlocks: 0 };

/** @param {number} writer */
async function write(writer) {
  const sql = postgres({ host, port: Number(port), database, username: 'postgres', max: 1, onnotice: () => undefined });
  for (let i = 0; ; i++) {
    if (pace !== '0') await pause(Number(pace));
    const sites = SITES.toSorted(() => Math.random() - 0.5).slice(0, 1 + pick(SITES.length));
    const back = Math.random() < 0.05;
    const changes = sites.map(
      (site) => `UPDATE platform.visitor SET nickname = '${i}' WHERE (tenant, site, id) = (1, ${site}, ${writer});
        INSERT INTO public.change SELECT pg_current_xact_id()::text::bigint, ${site}`,
    );
    const pauses = Math.random() < 0.3 ? '; SELECT pg_sleep(0.003)' : '';
    try {
      await sql.unsafe(`${changes.join(`${pauses}; `)}${back ? '; SELECT 1 / 0' : ''}`);
      if (road === 'outside') {
        await sql.unsafe(
          sites.map((site) => `SELECT gateway.append_receipts(1, ${site}, '{visitor.changed}')`).join('; '),
        );
      }
      counts.done++;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : '';
      if (code === '22012') counts.rolledBack++;
      else if (code === '40P01') counts.deadlocks++;
      else counts.failed++;
    }
  }
}

process.on('SIGTERM', () => {
  process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0));
});
// The test sends a signal after this line. An earlier one would end the program before it can report its counts.
process.stdout.write('\n');
await Promise.race(Array.from({ length: Number(writers) }, (_, n) => write(Number(first) + n)));
