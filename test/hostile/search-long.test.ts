import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';

/** Conversations with more messages than one page of a search looks at. */
let gateway: TestGateway;
let token: string;
/** Every website has ids of its own. A block of the index has 2,048 ids. */
const BLOCK = 2_048;
const OLD = '2026-01-01';
const PASSED = '2026-02-01';
const YOUNG = '2026-06-01';

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  const { sql } = gateway.database;
  await sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (1, 'one', 'One')`;
  await sql`INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
    SELECT 1, s, 'w' || s, 'Website', 'UTC' FROM generate_series(1, 3) s`;
  await sql`INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, created_at, updated_at)
    SELECT 1, s, s * 1000 + i, 'c' || s || '/' || i, 'closed', 'chat', ${OLD}::timestamptz, now()
      FROM generate_series(1, 3) s, generate_series(1, 50) i`;
  ({ token } = await gateway.issue({ websites: ['web_1_1'] }));
});
afterAll(() => gateway.close());

interface Said {
  readonly site: number;
  /** The conversations take turns from here. */
  readonly conversation: number;
  readonly turns?: number;
  readonly count: number;
  readonly from: number;
  readonly apart?: number;
  readonly at: string;
  readonly text: string;
}
/** Stores messages one minute apart. */
const say = ({ site, conversation, turns = 1, count, from, apart = 1, at, text }: Said): Promise<unknown> =>
  gateway.database.sql`
    INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
    SELECT 1, ${site}, ${from}::bigint + i * ${apart}::bigint, ${site} || '/' || ${from}::bigint + i * ${apart}::bigint, ${conversation}::bigint + i % ${turns}::integer,
           'visitor', 'public', 'text', ${text}, ${at}::timestamptz + i * interval '1 minute' FROM generate_series(0, ${count}::integer - 1) i`;

/** The conversations of a walk in their order, and the number of pages. */
async function walk(query: string): Promise<{ readonly ids: readonly string[]; readonly pages: number }> {
  const ids: string[] = [];
  let cursor: string | null = null;
  for (let pages = 1; pages <= 200; pages++) {
    const asked = new URLSearchParams({ query, order: 'newest', limit: '10', ...(cursor !== null && { cursor }) });
    const { status, body, text } = await gateway.ask(`/api/v1/search?${asked}`, { token });
    expect(status, text).toBe(200);
    ids.push(...body.results.map(({ id }: { id: string }) => id));
    cursor = body.next_cursor;
    if (cursor === null) return { ids, pages };
  }
  return expect.fail(`${query} has no last page`);
}

it('a walk shows each long conversation once, in the order of time, although no page looks at all its messages', async () => {
  // Each of these has one message in each of many blocks, before and after its old hit in the order of ids.
  const many = 300;
  const middle = BLOCK * 1_000;
  for (const [conversation, text] of [
    [1_041, 'a lamp that no query of this test asks for'],
    [1_042, 'deep is no lamp, but zzdeep'],
    [1_043, 'a zzdeep lamp, many times'],
  ] as const) {
    const from = middle - (many / 2) * BLOCK + conversation;
    await say({ site: 1, conversation, count: many, from, apart: BLOCK, at: PASSED, text });
    // More messages than the bound of 500, which are in one block.
    await say({ site: 1, conversation, count: 300, from: BLOCK * conversation * 10, at: PASSED, text });
    await say({
      site: 1,
      conversation,
      count: 1,
      from: middle + conversation + 100,
      at: OLD,
      text: 'an old zzdeep lamp',
    });
  }
  await say({ site: 1, conversation: 1_001, turns: 10, count: 10, from: 1, at: '2025-12-01', text: 'zzdeep lamp' });
  await say({ site: 1, conversation: 1_011, turns: 30, count: 30, from: 100, at: YOUNG, text: 'a young zzdeep lamp' });
  const young = Array.from({ length: 30 }, (_, n) => `cnv_1_1_${1_040 - n}`);
  const old = Array.from({ length: 10 }, (_, n) => `cnv_1_1_${1_010 - n}`);
  // The messages of 1042 hold the word. So they are hits of the first query, and candidates of the second, which asks for
  // the words side by side.
  for (const [query, middle] of [
    ['zzdeep', [['cnv_1_1_1042', 'cnv_1_1_1043'], ['cnv_1_1_1041']]],
    ['"zzdeep lamp"', [['cnv_1_1_1043'], ['cnv_1_1_1041', 'cnv_1_1_1042']]],
  ] as const) {
    const { ids, pages } = await walk(query);
    console.info(`${query}: ${ids.length} conversations on ${pages} pages`);
    expect(ids).toHaveLength(43);
    expect(ids.slice(0, 30)).toEqual(young);
    expect(ids.slice(33)).toEqual(old);
    const [passed, before] = middle;
    expect([...ids.slice(30, 30 + passed.length)].sort()).toEqual([...passed].sort());
    expect([...ids.slice(30 + passed.length, 33)].sort()).toEqual([...before].sort());
    // A page looks at 96 blocks at most, so the conversations take pages of their own.
    expect(pages).toBeGreaterThan(10);
    expect(pages).toBeLessThan(100);
  }
});

it('a page reads as much, however many messages of a conversation the pages before have passed', async () => {
  const { sql } = gateway.database;
  /** Blocks of the page that begins at the old hit of a conversation, by query. */
  const blocks = async (site: number, count: number): Promise<Record<string, number>> => {
    const conversation = site * 1_000 + 1;
    await say({ site, conversation, count: 1, from: 1, at: OLD, text: 'an old lamp' });
    await say({ site, conversation, count, from: 100 * BLOCK, at: PASSED, text: 'lamp of old' });
    const read: Record<string, number> = {};
    // A snapshot of other work can keep VACUUM from its work, and a page then reads more. So the least of three counts.
    for (let reading = 0; reading < 3; reading++) {
      await sql`SELECT gin_clean_pending_list('platform.message_words')`;
      await sql`VACUUM ANALYZE platform.message`;
      for (const text of ['lamp', 'old lamp']) {
        const page = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM platform.search_page(ARRAY['message'],
          ARRAY[(1, ${site}, 'message', false, NULL, NULL, NULL, NULL, NULL, '${PASSED}', 0)::platform.searched],
          '${JSON.stringify([[{ text, not: false }]])}', ARRAY['x'], NULL, false, true, 200, 0, 11, '2026-10-01', NULL)`;
        await sql.unsafe(page);
        const [row] = await sql.unsafe(page);
        const plan = row?.['QUERY PLAN'][0].Plan;
        const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
        read[text] = Math.min(blocks, read[text] ?? blocks);
      }
    }
    return read;
  };
  const few = await blocks(2, 10_000);
  const many = await blocks(3, 40_000);
  console.info('blocks of a page after 10,000 and 40,000 messages', few, many);
  expect(Object.keys(many)).toHaveLength(2);
  for (const [text, read] of Object.entries(many)) expect(read, text).toBeLessThan((few[text] ?? 0) * 1.5);
});

it('no look-up starts other processes of PostgreSQL, however cheap they seem', async () => {
  const { sql } = gateway.database;
  const session = await sql.reserve();
  const started = async (): Promise<number> => {
    await session`SELECT pg_stat_force_next_flush()`;
    // The other session plans its own statements as usual.
    const [row] =
      await sql`SELECT parallel_workers_to_launch::integer AS n FROM pg_stat_database WHERE datname = current_database()`;
    return row?.['n'];
  };
  await session`SET parallel_setup_cost = 0`;
  await session`SET parallel_tuple_cost = 0`;
  await session`SET min_parallel_table_scan_size = 0`;
  const page = (sites: string): Promise<unknown> =>
    session.unsafe(`SELECT * FROM platform.search_page(ARRAY['message'],
      (SELECT array_agg((1, s, 'message', false, NULL, NULL, NULL, NULL, NULL, 'infinity', 0)::platform.searched) FROM generate_series(${sites}) s),
      '[[{"text": "lamp", "not": false}]]', ARRAY['x'], NULL, false, true, 200, 0, 11, NULL, NULL)`);
  const before = await started();
  await session`SELECT count(*) FROM platform.message`;
  const counted = await started();
  // One website and several: platform.marked_hits and platform.joint_hits.
  await page('2, 2');
  await page('1, 3');
  const after = await started();
  session.release();
  expect(counted).toBeGreaterThan(before);
  expect(after).toBe(counted);
});
