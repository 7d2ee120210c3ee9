import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.ts';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import type { EmbeddedStore } from '../../src/store/embedded/embedded.ts';
import { issue } from '../support/credentials.ts';
import { backendsOf, timeOf } from './audit.ts';
import { start } from './processes.ts';
import { median } from './report.ts';
import { shoot } from './shots.ts';
import { openWorld } from './world.ts';

const PORT = 8799;
const ROUNDS = 16;
const SECONDS = 1;
/** The most ranges that a credential can have. The caller is in the last one. */
const RANGES = [...Array.from({ length: 19 }, (_, i) => `203.0.${i}.0/24`), '127.0.0.0/8'];
const OFF = ['conversation_disposition_set', 'contacts_list', 'search', 'visitor_note_add', 'conversations_list'];

/**
 * Compares reads of a contact by two credentials in one interleaved run: one with twenty ranges of addresses, whose app
 * has five operations switched off, and one without either.
 */
export async function allow(store: EmbeddedStore, print: (line: string) => void): Promise<void> {
  const { db, sql, close } = await openWorld(store, 'gateway');
  await importRecords(db, demoRecords(new Date()), {});
  const [bounded, free] = [await issue(sql, 1), await issue(sql, 1)];
  await sql`UPDATE gateway.credential SET allow_ip = ${RANGES} WHERE id = ${bounded.credential}`;
  await sql`UPDATE gateway.app SET switched_off = ${OFF} WHERE id = ${bounded.app}`;
  await sql`ANALYZE`;
  const [contact] = await sql`SELECT id FROM platform.contact WHERE tenant = 1 AND site = 1 AND NOT deleted LIMIT 1`;
  const target = { port: PORT, path: `/api/v1/contacts/ctc_1_1_${contact?.['id']}` };
  const url = `postgres://postgres@${encodeURIComponent(store.host)}:${store.port}/gateway`;
  const script = fileURLToPath(new URL('dist/test/bench/booked.js', packageRoot));
  const server = await start(script, ['on', String(PORT), url], {});
  /** Microseconds of processor time of a request, in the gateway and in PostgreSQL. */
  const round = async (token: string): Promise<number> => {
    const rows = await sql<{ pid: number }[]>`SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()`;
    const pids = [server.process.pid, ...backendsOf(rows.map(({ pid }) => pid))];
    const before = timeOf(pids);
    const { rate } = await shoot(target, token, SECONDS);
    return (timeOf(pids) - before) / (rate * SECONDS);
  };
  try {
    for (const { token } of [bounded, free, bounded, free]) await round(token);
    const ratios: number[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const order = i % 2 === 0 ? [bounded, free] : [free, bounded];
      const times: number[] = [];
      for (const { token } of order) times.push(await round(token));
      const [first = 0, second = 1] = times;
      ratios.push(i % 2 === 0 ? first / second : second / first);
    }
    print(
      `contact, ${RANGES.length} ranges and ${OFF.length} operations off: processor time ${median(ratios).toFixed(3)} times that without` +
        ` (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}, ${ROUNDS} rounds)`,
    );
  } finally {
    await server.stop();
    await close();
  }
}
