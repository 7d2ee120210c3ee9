import type { EmbeddedStore } from '../../src/store/embedded/embedded.ts';
import { issue } from '../support/credentials.ts';
import { quantile } from './report.ts';
import { fill, spelled } from './search.ts';
import { openCalls, openWorld } from './world.ts';

/** Milliseconds for one kind of read in one world. Slow kinds are called less often, but ten times at least. */
const TIME = 4_000;
const CALLS = 1_000;
const LEAST = 10;
/** The first calls of a connection plan their statements. */
const WARM = 3;
/** Ids that each world has. */
const SHARED = 1_900;
/** Messages of the smallest world. */
export const LEAST_SIZE = 20_000;

type Input = Readonly<Record<string, unknown>>;
type Request = (n: number) => readonly [tool: string, input: Input];

const of =
  (tool: string, member: string, kind: string): Request =>
  (n) => [tool, { [member]: `${kind}_1_1_${n}` }];
const on =
  (tool: string, more: Input = {}): Request =>
  () => [tool, { website_id: 'web_1_1', ...more }];
const find =
  (query: string, more: Input = {}): Request =>
  () => ['search', { query: spelled(query), limit: 10, ...more }];

/** The kinds of reads. In the first part, the worlds' answers have the same number of rows. */
const READS: readonly (readonly [name: string, request: Request])[] = [
  ['contact_get', of('contact_get', 'contact_id', 'ctc')],
  ['customer_find by e-mail', (n) => ['customer_find', { email: `p${n}@mail.example` }]],
  ['conversation', of('conversation', 'conversation_id', 'cnv')],
  ['conversation_messages', of('conversation_messages', 'conversation_id', 'cnv')],
  ['conversation_brief', of('conversation_brief', 'conversation_id', 'cnv')],
  ['visitor', of('visitor', 'visitor_id', 'vis')],
  ['visitor_notes', of('visitor_notes', 'visitor_id', 'vis')],
  ['visitor_conversations', of('visitor_conversations', 'visitor_id', 'vis')],
  ['contacts_list', on('contacts_list')],
  ['conversations_list', on('conversations_list')],
  ['the same by status', on('conversations_list', { status: 'snoozed' })],
  ['the same by team', on('conversations_list', { team_id: 'tem_1_1_1' })],
  ['the same by change', on('conversations_list', { order: 'updated_asc' })],
  ['search w1, newest', find('w1', { order: 'newest' })],
  ['search w100, newest', find('w100', { order: 'newest' })],
  ['count of 10 days by day', () => ['conversations_count', { website_id: 'web_1_1', group_by: 'day', from: ago(10) }]],
  // Here the larger world has more to find or to count.
  ['contacts by a name', (n) => on('contacts_list', { query: spelled(`Person w${n}`) })(n)],
  ['search w1', find('w1')],
  ['search w100', find('w100')],
  ['search w1000', find('w1000')],
  ['search w10000', find('w10000')],
  ['search w10000, newest', find('w10000', { order: 'newest' })],
  ['search w1 w2', find('w1 w2')],
  ['search, misspelt: w10z00', find('w10z00')],
  ['count by status', on('conversations_count', { group_by: 'status' })],
  ['count by team and day', on('conversations_count', { group_by: 'team,day', from: '2026-01-01' })],
];

const ago = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

/**
 * Measures the latency of reads, searches and counts on websites of these sizes, in messages. One process alternates
 * between the websites. Prints the rows of the table in docs/scale.md.
 */
export async function scale(
  store: Pick<EmbeddedStore, 'host' | 'port'>,
  sizes: readonly number[],
  print: (line: string) => void,
): Promise<void> {
  const worlds: { call: Awaited<ReturnType<typeof openCalls>>; close(): Promise<void> }[] = [];
  for (const messages of sizes) {
    const { db, sql, close } = await openWorld(store, `scale_${messages}`);
    const began = performance.now();
    await fill(sql, messages);
    await sql`INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at)
      SELECT 1, 1, n, 'n' || n, n, 'A note', now() FROM generate_series(1, ${SHARED}::integer) n`;
    print(`${messages} messages, filled in ${Math.round((performance.now() - began) / 1000)} s`);
    worlds.push({ call: await openCalls(db, (await issue(sql, 1)).token, 0), close });
  }
  const heads = sizes.map((messages) => ` ${messages.toLocaleString('en')}, p50 and p99 |`).join('');
  print(`| ms |${heads} p50, largest against smallest |`);
  print(`|---|${sizes.map(() => '---:|').join('')}---:|`);
  for (const [name, request] of READS) {
    const times = worlds.map((): number[] => []);
    const spent = worlds.map(() => 0);
    const done = (w: number): boolean => (spent[w] ?? 0) >= TIME && (times[w]?.length ?? 0) >= LEAST;
    for (let i = 0; i < CALLS && !worlds.every((_, w) => done(w)); i++) {
      for (const [w, one] of worlds.entries()) {
        if (done(w)) continue;
        const asked = request(1 + ((i * 7_919) % SHARED));
        const began = performance.now();
        await one.call(...asked);
        const took = performance.now() - began;
        spent[w] = (spent[w] ?? 0) + took;
        if (i >= WARM) times[w]?.push(took);
      }
    }
    const at = (w: number, part: number): number => quantile(times[w] ?? [], part);
    const cells = worlds.map((_, w) => ` ${at(w, 0.5).toFixed(2)}, ${at(w, 0.99).toFixed(2)} |`).join('');
    print(`| ${name} |${cells} ${(at(sizes.length - 1, 0.5) / at(0, 0.5)).toFixed(2)} |`);
  }
  for (const one of worlds) await one.close();
}
