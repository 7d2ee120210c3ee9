import type postgres from 'postgres';
import type { EmbeddedStore } from '../../src/store/embedded/embedded.ts';
import { issue } from '../support/credentials.ts';
import { openCalls, openWorld } from './world.ts';

export const MESSAGES = 1_000_000;
const CONVERSATIONS = MESSAGES / 10;
const WORDS = 30_000;
/** Texts that the messages share. A text of its own for each message would take as long as all its indexes. */
const TEXTS = 65_536;
const CLIENTS = 4;
const SECONDS = 3;

/** The n-th word of the world, in which letters stand for digits. */
export const spelled = (query: string): string => query.replace(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)));

type Call = readonly [tool: string, input: Record<string, unknown>, bearer?: string];

/**
 * Measures the operations that find things in one website with a million messages, at four clients. The words of the
 * messages follow Zipf's law, so the word w1 is in 60 of 100 messages, and the word w10000 is in one of 8,000. The texts
 * have letters in the place of the digits, because a search corrects no numbers.
 */
export async function search(store: EmbeddedStore, print: (line: string) => void): Promise<void> {
  const { db, sql, close } = await openWorld(store, 'gateway', 8);
  try {
    const began = performance.now();
    await fill(sql);
    print(`a website with ${MESSAGES} messages, filled in ${Math.round((performance.now() - began) / 1000)} s`);
    const { token } = await issue(sql, 1);
    const tenth = await issue(sql, 1, { teams: ['tem_1_1_1'] });
    const nothing = await issue(sql, 1, { teams: ['tem_1_1_11'] });
    const call = await openCalls(db, token, 0);
    const nth = (n: number): number => 1 + ((n * 7_919) % CONVERSATIONS);
    const find = (query: string, more = {}): Call => ['search', { query: spelled(query), limit: 10, ...more }];
    const count = (more: Record<string, unknown>): Call => ['conversations_count', { website_id: 'web_1_1', ...more }];
    const rows: [string, (n: number) => Call][] = [
      ...['w1', 'w2', 'w10', 'w100', 'w1000', 'w10000', 'nonesuch'].flatMap((word): [string, (n: number) => Call][] => [
        [`search ${word}`, () => find(word)],
        [`search ${word}, newest`, () => find(word, { order: 'newest' })],
      ]),
      ['search w1 w2', () => find('w1 w2')],
      ['search w100 w1000', () => find('w100 w1000')],
      ['search "w1 w2"', () => find('"w1 w2"')],
      ['search "w100 w101"', () => find('"w100 w101"')],
      ['search w1 or w1000', () => find('w1 or w1000')],
      ['search w1 -w2', () => find('w1 -w2')],
      ['search, many words', (n) => find(`w${1 + (n % 3_000)}`)],
      ...['w1', 'w100', 'w10000', 'nonesuch'].flatMap((word): [string, (n: number) => Call][] => [
        [`search ${word}, a tenth visible`, () => ['search', { query: spelled(word) }, tenth.token]],
        [`search ${word}, nothing visible`, () => ['search', { query: spelled(word) }, nothing.token]],
      ]),
      // A typing error in a word with four digits: a letter too much, and a letter replaced.
      ['search, misspelt: w10z00', () => find('w10z00')],
      ['search, misspelt: w1z00', () => find('w1z00')],
      ['search, three misspelt', () => find('w10z00 or w11z11 or w22z22')],
      ['search, frequent and misspelt', () => find('w1 w10z00')],
      ['search, many misspelt', (n) => find(`w${1000 + (n % 3_000)}z`)],
      ['conversations_count', () => count({})],
      ['conversations_count by status', () => count({ group_by: 'status' })],
      ['conversations_count by day', () => count({ group_by: 'day' })],
      ['conversations_count by contact', () => count({ group_by: 'contact' })],
      ['conversations_count by team,day', () => count({ group_by: 'team,day', from: '2026-01-01' })],
      ['conversation', (n) => ['conversation', { conversation_id: `cnv_1_1_${nth(n)}` }]],
      ['conversation_messages', (n) => ['conversation_messages', { conversation_id: `cnv_1_1_${nth(n)}` }]],
      ['conversation_brief', (n) => ['conversation_brief', { conversation_id: `cnv_1_1_${nth(n)}` }]],
      ['fetch', (n) => ['fetch', { id: `cnv_1_1_${nth(n)}` }]],
      ['contact_get', (n) => ['contact_get', { contact_id: `ctc_1_1_${nth(n)}` }]],
      ['customer_find by e-mail', (n) => ['customer_find', { email: `P${nth(n)}@mail.example` }]],
      ['customer_find by phone', (n) => ['customer_find', { phone: `030 ${999_999 + nth(n)}` }]],
      ['customer_find by name', (n) => ['customer_find', { name: spelled(`w${1 + (n % 3_000)}`) }]],
    ];
    for (const [name, request] of rows) {
      const times: number[] = [];
      const end = performance.now() + SECONDS * 1000;
      let turn = 0;
      const client = async (): Promise<void> => {
        while (performance.now() < end) {
          const asked = request(turn++);
          const start = performance.now();
          await call(...asked);
          times.push(performance.now() - start);
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
      const sorted = times.slice(times.length > 50 ? 10 : 0).sort((a, b) => a - b);
      const at = (part: number): string => (sorted[Math.floor(sorted.length * part)] ?? 0).toFixed(1).padStart(7);
      print(`${name.padEnd(32)} p50 ${at(0.5)} ms   p99 ${at(0.99)} ms   ${String(times.length).padStart(6)} calls`);
    }
  } finally {
    await close();
  }
}

/**
 * From this message on, rows are loaded without triggers and foreign keys, and the larger indexes of messages are built at
 * the end: 40 million messages would take an hour and a half otherwise. Nearly all words and spellings are known by then.
 */
const BARE = 1_000_001;
const TABLES = ['contact', 'visitor', 'visitor_contact', 'conversation', 'conversation_contact', 'message'];
/** The tables with words. Their triggers `…_said` say in which blocks a search by time looks. */
const SAID = ['contact', 'conversation', 'message'];
const INDEXES = ['message_words', 'message_visitor', 'message_conversation'];

/** Stops the triggers of the records and drops indexes. Returns what undoes both. */
async function bare(sql: postgres.Sql): Promise<() => Promise<void>> {
  const indexes = await sql<{ made: string }[]>`
    SELECT pg_get_indexdef(indexrelid) AS made FROM pg_index WHERE indexrelid::regclass::text = ANY (${INDEXES.map((name) => `platform.${name}`)})`;
  await sql.unsafe(`
    ${TABLES.map((table) => `ALTER TABLE platform.${table} DISABLE TRIGGER ALL;`).join('\n')}
    ${SAID.map((table) => `ALTER TABLE platform.${table} ENABLE TRIGGER ${table}_said;`).join('\n')}
    ${INDEXES.map((name) => `DROP INDEX platform.${name};`).join('\n')}`);
  return async () => {
    await sql`SET maintenance_work_mem = '1GB'`;
    for (const { made } of indexes) await sql.unsafe(made);
    await sql.unsafe(TABLES.map((table) => `ALTER TABLE platform.${table} ENABLE TRIGGER ALL;`).join('\n'));
  };
}

/** Fills one website with messages, ten in each conversation. */
export async function fill(sql: postgres.Sql, messages = MESSAGES): Promise<void> {
  const conversations = messages / 10;
  const word = `translate('w' || floor(exp(random() * ln(${WORDS})))::integer, '0123456789', 'abcdefghij')`;
  const words = (from: number, spread: number, n: string): string =>
    `(SELECT string_agg(${word}, ' ') FROM generate_series(1, ${from} + (hashint4(${n}) & 1023) % ${spread}))`;
  // The texts of all worlds are the same.
  await sql`SELECT setseed(0.5)`;
  await sql.unsafe(`
    INSERT INTO platform.organization (external_id, name) VALUES ('bench', 'Bench');
    INSERT INTO platform.website VALUES (1, 1, 's', 'Site', 'UTC');
    INSERT INTO platform.team SELECT 1, 1, t, 't' || t, 'Team ' || t FROM generate_series(1, 11) t;
    CREATE TEMP TABLE pool AS SELECT n, ${words(4, 20, 'n')} AS words FROM generate_series(0, ${TEXTS - 1}) n;
    CREATE UNIQUE INDEX ON pool (n);
    ANALYZE pool;`);
  let restore: (() => Promise<void>) | undefined;
  for (let from = 1; from <= conversations; from += 10_000) {
    if (from * 10 >= BARE) restore ??= await bare(sql);
    const to = Math.min(from + 9_999, conversations);
    const each = `generate_series(${from}, ${to}) n`;
    await sql.unsafe(`
      INSERT INTO platform.contact (tenant, site, id, external_id, name, email, phone, phone_e164, created_at)
        SELECT 1, 1, n, 'c' || n, 'Person ' || ${word}, 'p' || n || '@mail.example', '+4930' || 1000000 + n, '+4930' || 1000000 + n,
               now() - (${conversations} - n) * interval '5 minutes' FROM ${each};
      INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) SELECT 1, 1, n, 'v' || n, now() FROM ${each};
      INSERT INTO platform.visitor_contact (tenant, site, visitor_id, contact_id) SELECT 1, 1, n, n FROM ${each};
      INSERT INTO platform.conversation (tenant, site, id, external_id, visitor_id, team_id, status, platform, subject, message_count, last_message_at,
          created_at, updated_at)
        SELECT 1, 1, n, 'k' || n, n, 1 + n % 10, (ARRAY['unassigned','assigned','pending','snoozed','closed'])[1 + n % 5], 'chat',
               ${words(3, 3, 'n')}, 9, now() - (${messages} - n * 10 + 1) * interval '30 seconds',
               now() - (${conversations} - n) * interval '5 minutes', now() FROM ${each};
      INSERT INTO platform.conversation_contact (tenant, site, conversation_id, contact_id) SELECT 1, 1, n, n FROM ${each};
      INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
        SELECT 1, 1, m, m, 1 + (m - 1) / 10, 'visitor', CASE WHEN m % 10 = 0 THEN 'internal' ELSE 'public' END, 'text', pool.words,
               now() - (${messages} - m) * interval '30 seconds'
          FROM generate_series(${from * 10 - 9}, ${to * 10}) m JOIN pool ON pool.n = hashint4(m) & ${TEXTS - 1};`);
  }
  await restore?.();
  await sql`VACUUM ANALYZE`;
}
