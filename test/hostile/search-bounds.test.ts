import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/driver/postgres.ts';
import type { Answer } from '../support/answer.ts';
import { freshDatabase } from '../support/database.ts';
import { times } from '../support/form.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';

/** Messages, queries and websites that try to make one page of a search read without a bound. */
let gateway: TestGateway;
beforeAll(async () => {
  const own = await freshDatabase('empty');
  const { host, port, name } = own;
  // A search has as much time as in the gateway.
  const db = openDatabase({
    target: { host, port, database: name, username: 'postgres' },
    connections: 4,
    statementTimeout: 15_000,
    name: 'search',
  });
  await own.db.close();
  gateway = await openTestGateway('empty', { ...own, db });
  await gateway.database
    .sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (1, 'one', 'One'), (2, 'two', 'Two')`;
  await websites(1, 1, 1);
  await websites(2, 1, 1);
});
afterAll(() => gateway.close());

const websites = (tenant: number, from: number, to: number): Promise<unknown> => gateway.database.sql`
  INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
  SELECT ${tenant}, s, 'w' || s, 'Website', 'UTC' FROM generate_series(${from}::integer, ${to}::integer) s`;

let last = 0;
/** Stores conversations with one message each, one minute apart. Returns the id of the first conversation. */
async function conversations(
  count: number,
  text: string,
  at: string,
  { tenant = 1, site = 1, team = 0 } = {},
): Promise<number> {
  const { sql } = gateway.database;
  const first = last + 1;
  last += count;
  await sql`INSERT INTO platform.team (tenant, site, id, external_id, name) SELECT ${tenant}, ${site}, ${team}, ${`t${team}`}, 'Team'
    WHERE ${team} > 0 ON CONFLICT DO NOTHING`;
  await sql`INSERT INTO platform.conversation (tenant, site, id, external_id, team_id, status, platform, created_at, updated_at)
    SELECT ${tenant}, ${site}, i, 'c' || i, ${team || null}::bigint, 'closed', 'chat', ${at}::timestamptz, ${at}::timestamptz
      FROM generate_series(${first}::integer, ${last}::integer) i`;
  await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
    SELECT ${tenant}, ${site}, i, 'm' || i, i, 'visitor', 'public', 'text', ${text}, ${at}::timestamptz + i * interval '1 minute'
      FROM generate_series(${first}::integer, ${last}::integer) i`;
  return first;
}
/** Stores messages of one conversation, one second apart. */
async function say(
  conversation: number,
  texts: readonly string[],
  at: string,
  { tenant = 1, site = 1 } = {},
): Promise<void> {
  const first = last + 1;
  last += texts.length;
  await gateway.database.sql`
    INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
    SELECT ${tenant}, ${site}, ${first} - 1 + n, 'm' || ${first} - 1 + n, ${conversation}, 'visitor', 'public', 'text', t, ${at}::timestamptz + n * interval '1 second'
      FROM unnest(${texts as string[]}::text[]) WITH ORDINALITY AS u (t, n)`; // the driver takes no readonly array
}

const search = (query: string, more: Readonly<Record<string, string>>, token: string): Promise<Answer> =>
  gateway.ask(`/api/v1/search?${new URLSearchParams({ query, ...more })}`, { token });

/** Seconds of processor time that each connection of the gateway has used. Other programs add nothing to them. */
async function worked(): Promise<ReadonlyMap<number, number>> {
  const rows = await gateway.database.sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'search%'`;
  return new Map(
    rows.map(({ pid }) => {
      // The process's name stands in parentheses. User and system time follow, in hundredths of a second.
      const [, after = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
      const [user, system] = after.split(' ').slice(11);
      return [pid, (Number(user) + Number(system)) / 100];
    }),
  );
}

/** Asks for a page. Returns the answer, and the seconds of processor time that PostgreSQL took for it. */
async function page(
  query: string,
  more: Readonly<Record<string, string>>,
  token: string,
): Promise<{ answer: Answer; seconds: number }> {
  const before = await worked();
  const answer = await search(query, more, token);
  const after = [...(await worked())].map(([pid, seconds]) => seconds - (before.get(pid) ?? 0));
  expect(after.length).toBeGreaterThan(0);
  return { answer, seconds: after.reduce((sum, seconds) => sum + seconds, 0) };
}

interface Walk {
  readonly ids: readonly string[];
  readonly pages: number;
  /** Seconds of processor time of the most expensive page. */
  readonly most: number;
}
async function walk(query: string, more: Readonly<Record<string, string>>, token: string): Promise<Walk> {
  const ids: string[] = [];
  let most = 0;
  let cursor: string | null = null;
  for (let pages = 1; pages <= 400; pages++) {
    const { answer, seconds } = await page(query, { ...more, ...(cursor !== null && { cursor }) }, token);
    const { status, body, text } = answer;
    most = Math.max(most, seconds);
    expect(status, `${query}, page ${pages}: ${text}`).toBe(200);
    ids.push(...body.results.map(({ id }: { id: string }) => id));
    cursor = body.next_cursor;
    if (cursor === null) return { ids, pages, most };
  }
  return expect.fail(`${query} has no last page`);
}

/** The processor time that PostgreSQL may take for a page. */
const SECONDS = 3;

/** 60,000 characters of writing without spaces, as one customer can send. */
const HAN = Array.from({ length: 60_000 }, (_, n) => String.fromCharCode(0x4e00 + ((n * 7_919) % 5_000))).join('');

/** Long messages in one conversation. */
const LONG = times(12, 40);
describe(`a conversation with ${LONG} messages of 60,000 characters`, () => {
  const due = new Set<string>();
  let everything: string;
  let restricted: string;
  beforeAll(async () => {
    const old = await conversations(10, 'the zzdeep lamp', '2026-01-01', { team: 7 });
    const big = await conversations(1, 'a zzdeep lamp', '2026-02-01', { team: 7 });
    const young = await conversations(30, 'one more zzdeep lamp', '2026-04-01', { team: 7 });
    // The long texts are among the young hits in time. An earlier page has passed them when the short message is found.
    // Texts with all words of the phrase, but never side by side.
    await say(
      big,
      Array.from({ length: LONG }, (_, n) => (n % 2 === 0 ? `lamp ${HAN} zzdeep` : HAN)),
      new Date(Date.UTC(2026, 3, 1, 0, young + 25)).toISOString(),
    );
    for (const [first, count] of [
      [old, 10],
      [big, 1],
      [young, 30],
    ] as const)
      for (let id = first; id < first + count; id++) due.add(`cnv_1_1_${id}`);
    ({ token: everything } = await gateway.issue({ websites: ['web_1_1'] }));
    ({ token: restricted } = await gateway.issue({ websites: ['web_1_1'], teams: ['tem_1_1_7'] }));
  });

  // The word `one` is in none of the long texts, so the conversation is found at its short message.
  it.each([
    ['"zzdeep lamp"', 'best'],
    ['"zzdeep lamp"', 'newest'],
    ['lamp -one zzdeep', 'newest'],
    ['zzdeep', 'best'],
    ['zzdeep', 'newest'],
    ['zzdeep a or zzdeep the or zzdeep one', 'newest'],
  ])('a walk of %s in the order %s shows each conversation once', async (query, order) => {
    const expected = query.includes('-one') ? [...due].slice(0, 11) : [...due];
    for (const token of [everything, restricted]) {
      const { ids, pages, most } = await walk(query, { order, limit: '10' }, token);
      console.info(`${query}, ${order}: ${pages} pages, at most ${most} s of a processor each`);
      expect([...ids].sort()).toEqual([...expected].sort());
      expect(pages).toBeLessThan(120);
      // A page reads one of the long texts. Half of them are candidates, and half of the pages check the conversation.
      if (query.startsWith('"')) expect(pages).toBeGreaterThan(4 + LONG * 0.75);
      expect(most).toBeLessThan(SECONDS);
    }
  });
});

/**
 * The blocks that a statement reads, by its plan. A connection that has not run it yet reads thousands of blocks of the
 * catalog, and does so again after another process has changed a table. So one connection counts three times.
 */
async function blocksOf(explain: string): Promise<number> {
  const connection = await gateway.database.sql.reserve();
  const counts: number[] = [];
  for (let n = 0; n < 3; n++) {
    const [row] = await connection.unsafe(explain);
    const plan = row?.['QUERY PLAN'][0].Plan;
    counts.push(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']);
  }
  connection.release();
  return Math.min(...counts);
}

const VOLUME = 8_000;
it('a page reads as much of the index, however much other organizations wrote', async () => {
  const { sql } = gateway.database;
  const text = 'このお店の商品を昨日の夜に見ました。私の注文はどこですか';
  await conversations(20, `${text} zzhas`, '2026-05-01');
  /** Blocks that one page reads, by query. */
  const blocks = async (): Promise<Record<string, number>> => {
    await sql`SELECT gin_clean_pending_list('platform.message_words')`;
    await sql`ANALYZE platform.message`;
    const read: Record<string, number> = {};
    for (const [name, groups] of Object.entries({
      letter: [[{ text: 'の', not: false }]],
      excluded: [
        [
          { text: 'zzhas', not: false },
          { text: 'ぬ', not: true },
        ],
      ],
      absent: [[{ text: 'ゑ', not: false }]],
      many: [[...'のこおし商昨夜見私注は'].map((letter) => ({ text: letter, not: false }))],
    })) {
      const page = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM platform.search_page(ARRAY['message'],
        ARRAY[(1, 1, 'message', false, NULL, NULL, NULL, NULL, NULL, 'infinity', 0)::platform.searched],
        '${JSON.stringify(groups)}', ARRAY['x'], NULL, false, true, 200, 0, 11, NULL, NULL)`;
      read[name] = await blocksOf(page);
    }
    return read;
  };
  // Without any rows of others, the B-trees of the primary keys have a level less.
  await conversations(1_500, `${text} ぬるゑる`, '2026-05-01', { tenant: 2 });
  const before = await blocks();
  await conversations(VOLUME, `${text} ぬるゑる`, '2026-05-01', { tenant: 2 });
  const after = await blocks();
  console.info('blocks of a page before and after', before, after);
  expect(Object.keys(after)).toHaveLength(4);
  for (const [name, read] of Object.entries(after)) expect(read, name).toBeLessThan((before[name] ?? 0) * 1.3 + 20);
});

describe('400 websites', () => {
  const WORDS = Array.from({ length: 100 }, (_, n) => `z${n.toString(36).padStart(2, '0')}`);
  const PAIRS = HAN.slice(0, 400);
  const MESSAGES = 2_000;
  let everything: string;
  let restricted: string;
  let neighbour: number;
  /** Empties that list of the index. Returns how many blocks it had. */
  const cleaned = async (): Promise<number> => {
    const [row] = await gateway.database.sql<{ blocks: number }[]>`
      SELECT gin_clean_pending_list('platform.message_words')::integer AS blocks`;
    return row?.blocks ?? -1;
  };
  /** An import of another organization fills the list of new entries of the index, which every look-up reads. */
  const fill = async (full: boolean): Promise<void> => {
    await cleaned();
    if (!full) return;
    const first = last + 1;
    last += 2_000;
    await gateway.database.sql.begin(async (sql) => {
      await sql`SELECT gateway.import_bulk(true)`;
      await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
        SELECT 2, 1, i, 'm' || i, ${neighbour}, 'visitor', 'public', 'text', 'the quick brown fox jumps over a lazy dog and some more words', now()
          FROM generate_series(${first}::integer, ${last}::integer) i`;
    });
  };
  beforeAll(async () => {
    const { sql } = gateway.database;
    // Autovacuum would empty the list, or write new statistics, between two measurements that are compared.
    await sql`ALTER TABLE platform.message SET (autovacuum_enabled = false)`;
    await sql`ALTER TABLE platform.conversation SET (autovacuum_enabled = false)`;
    await websites(1, 101, 500);
    for (const text of [WORDS.join(' '), `${PAIRS} の`]) {
      const first = last + 1;
      last += MESSAGES;
      // Each conversation has one message and a team.
      await sql`INSERT INTO platform.team (tenant, site, id, external_id, name) SELECT 1, s, 1, 't' || s, 'Team' FROM generate_series(101, 500) s ON CONFLICT DO NOTHING`;
      await sql`INSERT INTO platform.conversation (tenant, site, id, external_id, team_id, status, platform, created_at, updated_at)
        SELECT 1, 101 + i % 400, i, 'c' || i, 1, 'closed', 'chat', now(), now() FROM generate_series(${first}::integer, ${last}::integer) i`;
      await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
        SELECT 1, 101 + i % 400, i, 'm' || i, i, 'visitor', 'public', 'text', ${text}, '2026-06-01'::timestamptz - i * interval '1 minute'
          FROM generate_series(${first}::integer, ${last}::integer) i`;
    }
    await sql`SELECT gin_clean_pending_list('platform.conversation_words')`;
    neighbour = await conversations(1, 'one', '2026-05-01', { tenant: 2 });
    const all = Array.from({ length: 400 }, (_, n) => `web_1_${n + 101}`);
    ({ token: everything } = await gateway.issue({ websites: all }));
    ({ token: restricted } = await gateway.issue({ websites: all, teams: all.map((_, n) => `tem_1_${n + 101}_1`) }));
  }, 300_000);

  describe.each([
    ['an empty', false],
    ['a full', true],
  ])('with %s list of new entries', (list, full) => {
    beforeAll(() => fill(full));
    it.each([
      ['100 words', WORDS.join(' '), true],
      [
        'words that no text has',
        WORDS.map((word) => `${word}q`)
          .join(' ')
          .slice(0, 400),
        false,
      ],
      ['80 alternatives', WORDS.slice(0, 57).join(' or '), true],
      ['400 characters side by side', PAIRS, true],
      ['200 letters', [...PAIRS.slice(0, 199)].join(' '), true],
      ['one letter 200 times', 'の '.repeat(200), true],
      ['a letter that is excluded', `z00 ${'-の '.repeat(120)}`, true],
    ])('%s: a page takes at most 3 s of a processor', async (_, query, due) => {
      for (const token of [everything, restricted]) {
        const { answer, seconds } = await page(query, { limit: '50' }, token);
        console.info(`${query.slice(0, 20)}: ${seconds} s of a processor with ${list} list`);
        expect(answer.status, answer.text).toBe(200);
        expect(answer.body.results.length > 0).toBe(due);
        expect(seconds).toBeLessThan(SECONDS);
      }
    });

    it('the list is as it was', async () => {
      const blocks = await cleaned();
      if (full) expect(blocks).toBeGreaterThan(80);
      else expect(blocks).toBe(0);
    });
  });

  it('a page reads few blocks, and hardly more while another organization imports', async () => {
    const { sql } = gateway.database;
    const blocks = async (from: number, terms: readonly string[], teams: string): Promise<number> => {
      const page = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM platform.search_page(ARRAY['message'],
        (SELECT array_agg((1, s, 'message', false, NULL, ${teams}, NULL, NULL, NULL, 'infinity', 0)::platform.searched) FROM generate_series(${from}, 500) s),
        '${JSON.stringify([terms.map((text) => ({ text, not: false }))])}', ARRAY['x'], NULL, false, true, 200, 0, 11, NULL, NULL)`;
      return blocksOf(page);
    };
    const all = async (teams: string): Promise<number[]> => [
      await blocks(500, ['z00'], teams),
      await blocks(101, ['z00'], teams),
      await blocks(101, WORDS, teams),
      await blocks(
        101,
        WORDS.map((word) => `${word}q`),
        teams,
      ),
    ];
    await sql`VACUUM ANALYZE platform.message, platform.conversation`;
    for (const [teams, most] of [
      ['NULL', 10_000],
      ["'{1}'::bigint[]", 20_000],
    ] as const) {
      await fill(false);
      const [one = 0, ...empty] = await all(teams);
      await fill(true);
      const [full = 0, ...read] = await all(teams);
      console.info(`blocks with an empty list ${one} ${empty.join(' ')}, with a full one ${full} ${read.join(' ')}`);
      // The list has 80 blocks at least, and each look-up reads them.
      expect(full).toBeGreaterThan(one + 80);
      expect(read).toHaveLength(3);
      for (const [n, blocks] of read.entries()) {
        // 32 websites share a look-up. One look-up for each website would read the list 400 times.
        expect(blocks).toBeLessThan((empty[n] ?? 0) + 40 * (full - one));
        expect(blocks).toBeLessThan(most);
      }
    }
  });

  it('a walk shows each conversation once', async () => {
    await fill(false);
    // The newest message with these words in each website.
    const [row] = await gateway.database.sql<{ from: Date }[]>`
      SELECT min(at) AS from FROM (SELECT max(created_at) AS at FROM platform.message
        WHERE tenant = 1 AND site > 100 AND text LIKE 'z00%' GROUP BY site) newest`;
    const from = row?.from.toISOString() ?? '';
    for (const token of [everything, restricted])
      for (const order of ['best', 'newest']) {
        const { ids } = await walk('z00 z01', { order, limit: '50', created_from: from, kinds: 'messages' }, token);
        expect([ids.length, new Set(ids).size]).toEqual([400, 400]);
      }
  }, 300_000);
});
