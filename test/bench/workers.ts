import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.ts';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import type { EmbeddedStore } from '../../src/store/embedded/embedded.ts';
import { issue } from '../support/credentials.ts';
import { type Started, start } from './processes.ts';
import { postmasterOf, spentBelow } from './processor.ts';
import { median } from './report.ts';
import { CONNECTIONS, shoot, type Target } from './shots.ts';
import { openWorld } from './world.ts';

const PORTS = [8791, 8792, 8793, 8794] as const;
const ROUNDS = 5;
const SECONDS = 2;
const main = fileURLToPath(new URL('dist/src/main.js', packageRoot));

/**
 * Compares one process with two workers of one gateway, and with two gateways at one PostgreSQL, in turn. All share
 * this machine, so the sum of the rates grows only as far as processors are free. PostgreSQL's part says how many
 * requests a second its processors could carry if the gateways had machines of their own.
 */
export async function workers(store: EmbeddedStore, print: (line: string) => void): Promise<void> {
  const { db, sql, close } = await openWorld(store, 'gateway');
  await importRecords(db, demoRecords(new Date()), {});
  await sql`ANALYZE`;
  const { token } = await issue(sql, 1);
  const postmaster = await postmasterOf(sql);
  const url = `postgres://postgres@${encodeURIComponent(store.host)}:${store.port}/gateway`;
  const serve = (port: number, ...more: readonly string[]): Promise<Started> =>
    start(main, ['serve', '--no-demo', ...more], { DATABASE_URL: url, PORT: String(port), LOG_LEVEL: 'silent' });
  const [one, two, ...each] = PORTS;
  const servers: Started[] = [];
  try {
    servers.push(await serve(one), await serve(two, '--workers', '2'));
    for (const port of each) servers.push(await serve(port));
    const forms = new Map<string, readonly number[]>([
      ['one process', [one]],
      ['--workers 2', [two]],
      ['two gateways', each],
    ]);
    const [contact] = await sql`SELECT id FROM platform.contact WHERE tenant = 1 AND site = 1 AND NOT deleted LIMIT 1`;
    const reads = new Map<string, Omit<Target, 'port'>>([
      ['contact', { path: `/api/v1/contacts/ctc_1_1_${contact?.['id']}` }],
      ['conversations page', { path: '/api/v1/conversations?website_id=web_1_1' }],
    ]);
    for (const [name, target] of reads) {
      const rounds = new Map([...forms.keys()].map((form) => [form, [] as { rate: number; store: number }[]] as const));
      // The first round is warm-up.
      for (let round = 0; round <= ROUNDS; round++) {
        for (const [form, ports] of forms) {
          const before = spentBelow(postmaster);
          const shots = await Promise.all(
            ports.map((port) => shoot({ ...target, port }, token, SECONDS, CONNECTIONS / ports.length)),
          );
          const rate = shots.reduce((sum, shot) => sum + shot.rate, 0);
          const spent = (spentBelow(postmaster) - before) / SECONDS / rate;
          if (round > 0) rounds.get(form)?.push({ rate, store: spent * 1_000 });
        }
      }
      const base = rounds.get('one process') ?? [];
      for (const [form, all] of rounds) {
        const ratios = all.map(({ rate }, i) => rate / (base[i]?.rate ?? rate));
        print(
          `${name.padEnd(20)} ${form.padEnd(13)} ${Math.round(median(all.map(({ rate }) => rate)))}/s ` +
            `(${median(ratios).toFixed(2)}, ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)} of one process)  ` +
            `PostgreSQL ${Math.round(median(all.map((round) => round.store)))} µs a request`,
        );
      }
    }
  } finally {
    for (const server of servers) await server.stop();
    await close();
  }
}
