import { afterAll, beforeAll, describe, expect, it as inEachForm } from 'vitest';
import type { Answer } from '../../support/answer.ts';
import { everyOnce, itOnce as it } from '../../support/form.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';

/** The authors of messages, each message as a hit, and how many messages of a conversation match. */
let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());

type Query = Readonly<Record<string, string>>;
interface Result {
  readonly id: string;
  readonly kind: string;
  readonly conversation_id: string;
  readonly message_id: string;
  readonly created_at: string;
  readonly author_type: string;
  readonly matches?: number;
}
const search = (query: string, more: Query = {}, by = token): Promise<Answer> =>
  gateway.ask(`/api/v1/search?${new URLSearchParams({ query, ...more })}`, { token: by });

async function walk(query: string, more: Query = {}, by = token): Promise<{ found: Result[]; pages: number }> {
  const found: Result[] = [];
  let cursor: string | null = null;
  for (let pages = 1; pages < 500; pages++) {
    const { body, status, text } = await search(query, { ...more, ...(cursor !== null && { cursor }) }, by);
    expect(status, text).toBe(200);
    found.push(...body.results);
    cursor = body.next_cursor;
    if (cursor === null) return { found, pages };
  }
  return expect.fail(`${query} has no last page`);
}

interface Due {
  readonly message: string;
  readonly conversation: string;
}
/** What a search must find, without any index. */
async function due(word: string, authors: string, { internal = false, from = '2000-01-01' } = {}): Promise<Due[]> {
  const rows = await gateway.database.sql<Due[]>`
    SELECT 'msg_' || m.tenant || '_' || m.site || '_' || m.id AS message,
           'cnv_' || m.tenant || '_' || m.site || '_' || m.conversation_id AS conversation
      FROM platform.message m
     WHERE m.tenant = 1 AND NOT m.redacted AND (${internal} OR m.visibility = 'public') AND m.text ~* ${`\\m${word}\\M`}
       AND m.author_type = ANY(string_to_array(${authors}, ',')) AND m.created_at >= ${from}::timestamptz`;
  return [...rows];
}
const ALL = 'visitor,operator,bot,system';

let last = 5_000_000;
interface Said {
  readonly tenant?: number;
  readonly site?: number;
  readonly author?: string;
  readonly internal?: boolean;
  readonly redacted?: boolean;
}
/** Stores messages of one conversation, one second apart. */
async function say(conversation: number, texts: readonly string[], said: Said = {}): Promise<void> {
  const { tenant = 1, site = 1, author = 'visitor', internal = false, redacted = false } = said;
  const first = last + 1;
  last += texts.length;
  await gateway.database.sql`
    INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, redacted, created_at)
    SELECT ${tenant}, ${site}, ${first} - 1 + n, 'said ' || ${first} - 1 + n, ${conversation}, ${author},
           ${internal ? 'internal' : 'public'}, 'text', t, ${redacted}, now() - interval '1 day' + n * interval '1 second'
      FROM unnest(${texts as string[]}::text[]) WITH ORDINALITY AS u (t, n)`; // the driver takes no readonly array
}
/** A conversation without messages. */
async function conversation({ tenant = 1, site = 1 } = {}): Promise<number> {
  const id = ++last;
  await gateway.database.sql`
    INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, created_at, updated_at)
    VALUES (${tenant}, ${site}, ${id}, ${`c${id}`}, 'closed', 'chat', now(), now())`;
  return id;
}

describe('author', () => {
  const AUTHORS = [
    'bot',
    'operator',
    'visitor',
    'system',
    'bot,system',
    'visitor,operator',
    'operator,visitor,operator',
    ALL,
  ];
  inEachForm.each(everyOnce(AUTHORS, 4))(
    'finds the messages by %s and no others, each once, in both orders, page by page',
    async (author) => {
      if (author === 'system') await say(3, ['the order was moved'], { author });
      for (const word of ['order', 'the']) {
        const messages = await due(word, author);
        expect(messages.length, `${word} by ${author}`).toBeGreaterThan(0);
        for (const more of [{ limit: '50' }, { order: 'newest', limit: '50' }, { limit: '7' }]) {
          if (more.limit === '7' && messages.length > 500) continue;
          const each = await walk(word, { author, per: 'message', ...more });
          const ids = each.found.map(({ message_id }) => message_id);
          expect(ids.sort()).toEqual(messages.map(({ message }) => message).sort());
          expect(each.pages).toBeGreaterThanOrEqual(Math.ceil(messages.length / Number(more.limit)));
          const { found } = await walk(word, { author, ...more });
          const conversations = new Set(messages.map((one) => one.conversation));
          expect(found.map(({ id }) => id).sort()).toEqual([...conversations].sort());
          for (const hit of found) expect(author.split(',')).toContain(hit.author_type);
        }
      }
    },
  );

  it('searches only messages, also where other kinds are granted', async () => {
    const { body } = await search('order', { author: ALL, limit: '50' });
    expect(new Set(body.results.map(({ kind }: Result) => kind))).toEqual(new Set(['message']));
    expect(body.left_out).toEqual([]);
    expect((await search('order', { author: 'bot', kinds: 'messages' })).status).toBe(200);
  });

  it.each(['agent', 'operators', 'visitor,', ',bot', 'visitor bot', 'Visitor', 'visitor,bot,system,operator,bot'])(
    'refuses author %s, and says what it can be',
    async (author) => {
      const { status, body } = await search('order', { author });
      expect([status, body.code, body.errors[0].parameter]).toEqual([400, 'invalid_parameter', 'author']);
      expect(body.errors[0].expected).toContain('visitor, operator, bot, system');
    },
  );

  it.each(['notes', 'messages,notes', 'contacts'])('refuses an author beside kinds=%s', async (kinds) => {
    const { status, body } = await search('order', { author: 'bot', kinds });
    expect([status, body.errors[0].parameter]).toEqual([400, 'kinds']);
    expect(body.errors[0].expected).toContain('only messages have an author');
  });

  it('refuses another per, and the cursor of another author or per', async () => {
    expect((await search('order', { per: 'contact' })).body.errors[0].expected).toContain('conversation, message');
    const { body } = await search('the', { limit: '1', author: 'visitor,bot', kinds: 'messages' });
    const again = { limit: '1', cursor: body.next_cursor, kinds: 'messages' };
    for (const more of [{}, { author: 'visitor' }, { author: 'visitor,bot', per: 'message' }, { per: 'message' }])
      expect((await search('the', { ...again, ...more })).body.code, JSON.stringify(more)).toBe('invalid_cursor');
    expect((await search('the', { ...again, author: 'bot,visitor' })).status).toBe(200);
  });

  it('reads no message of others, however many have the word', async () => {
    const busy = await conversation();
    await say(
      busy,
      Array.from({ length: 6_000 }, () => 'zqbusy'),
    );
    await say(busy, ['zqbusy too'], { author: 'system' });
    const { sql } = gateway.database;
    const read = (authors: string): Promise<number> =>
      sql.begin(async (own) => {
        const fetched = async (): Promise<number> => {
          const [row] = await own<{ n: number }[]>`
            SELECT pg_stat_get_xact_tuples_fetched('platform.message'::regclass)::integer AS n`;
          return row?.n ?? 0;
        };
        const before = await fetched();
        const rows = await own`SELECT * FROM platform.search_page('{message}',
          ARRAY[(1, 1, 'message', false, NULL, NULL, NULL, NULL, NULL, 'infinity', 0)::platform.searched],
          '[[{"text": "zqbusy", "not": false}]]', '{zqbusy}', string_to_array(${authors}, ','), false, true, 200, 0, 11, NULL, NULL)`;
        expect(rows.map(({ id }) => id)).toHaveLength(1);
        return (await fetched()) - before;
      });
    expect(await read('visitor')).toBeGreaterThan(500);
    expect(await read('system')).toBeLessThan(20);
  });
});

/** Checks `matches` of every hit of a walk. Returns how many were checked. */
async function counted(word: string, more: Query, hits: readonly Due[]): Promise<number> {
  const { found } = await walk(word, { kinds: 'messages', ...more });
  const due = new Map<string, number>();
  for (const hit of hits) due.set(hit.conversation, (due.get(hit.conversation) ?? 0) + 1);
  expect(found.length).toBeGreaterThan(0);
  for (const { id, matches } of found) expect(matches, `${word} ${id}`).toBe(due.get(id));
  return found.length;
}

describe('matches', () => {
  it('counts the messages of the conversation that this search would find, on each page', async () => {
    const from = new Date(Date.now() - 20 * 86_400_000).toISOString();
    let checked = 0;
    checked += await counted('order', { limit: '5' }, await due('order', ALL));
    checked += await counted('order', { order: 'newest', limit: '9' }, await due('order', ALL));
    checked += await counted('the', { limit: '50' }, await due('the', ALL));
    checked += await counted('the', { author: 'operator', limit: '50' }, await due('the', 'operator'));
    checked += await counted('the', { per: 'message', author: 'bot', limit: '50' }, await due('the', 'bot'));
    checked += await counted('order', { include_internal: 'true' }, await due('order', ALL, { internal: true }));
    checked += await counted('order', { created_from: from }, await due('order', ALL, { from }));
    expect(checked).toBeGreaterThan(300);
  });

  it('is absent for other texts', async () => {
    const { found } = await walk('order', { kinds: 'subjects,notes,contacts' });
    expect(found.length).toBeGreaterThan(0);
    for (const hit of found) expect(hit).not.toHaveProperty('matches');
  });

  it('is exact to 99, tells 100 for more, and is absent in a conversation too long to count', async () => {
    for (const [word, count, matches] of [
      ['zqfew', 99, 99],
      ['zqhundred', 100, 100],
      ['zqmany', 150, 100],
      ['zqlong', 2_001, undefined],
    ] as const) {
      const one = await conversation();
      await say(
        one,
        Array.from({ length: count }, (_, n) => `${word} ${n}`),
      );
      await say(one, ['nothing of it'], { internal: true });
      for (const internal of ['false', 'true']) {
        const [hit] = (await walk(word, { include_internal: internal })).found;
        expect([word, internal, hit?.matches]).toEqual([word, internal, matches]);
      }
    }
  });

  it('counts a phrase only where its words stand side by side, and stops before long texts', async () => {
    const [side, long] = [await conversation(), await conversation()];
    await say(side, ['zqred zqblue', 'zqblue zqred', 'a zqred zqblue b', 'zqred, zqblue!', 'zqred and zqblue']);
    const { found } = await walk('"zqred zqblue"');
    expect(found.map(({ matches }) => matches)).toEqual([3]);
    await say(
      long,
      Array.from({ length: 9 }, () => `zqwarm ${'x'.repeat(40_000)} zqcold`),
    );
    await say(long, ['zqcold zqwarm']);
    const [hit] = (await walk('"zqcold zqwarm"')).found;
    expect(hit?.id).toBe(`cnv_1_1_${long}`);
    expect(hit).not.toHaveProperty('matches');
  });
});

/** Texts that the caller may not see, in or beside a conversation with four hits. Same ids elsewhere are another conversation. */
const hidden = [
  ['internal messages', (id: number, texts: string[]) => say(id, texts, { internal: true, author: 'operator' })],
  ['redacted messages', (id: number, texts: string[]) => say(id, texts, { redacted: true })],
  ['a conversation of the same number on a website that is not granted', elsewhere({ site: 2 })],
  ['a conversation of the same number of another organization', elsewhere({ tenant: 2 })],
] as const;
function elsewhere(where: { tenant?: number; site?: number }) {
  return async (id: number, texts: string[]): Promise<void> => {
    const { tenant = 1, site = 1 } = where;
    const { sql } = gateway.database;
    await sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (${tenant}, 'other', 'Other') ON CONFLICT DO NOTHING`;
    await sql`INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
      VALUES (${tenant}, ${site}, 'w', 'w', 'UTC') ON CONFLICT DO NOTHING`;
    await sql`INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, created_at, updated_at)
      VALUES (${tenant}, ${site}, ${id}, ${`c${id} of ${site}`}, 'closed', 'chat', now(), now())`;
    await say(id, texts, where);
  };
}

let words = 0;
/** Fails if hidden texts change an answer. Returns how many answers were compared. */
async function interferes(hide: (id: number, texts: string[]) => Promise<void>, count = 130): Promise<number> {
  const word = `zqhide${String.fromCharCode(97 + words++)}`;
  const { token: narrow } = await gateway.issue({ websites: ['web_1_1'] });
  const id = await conversation();
  await say(
    id,
    ['the', 'a', 'this', 'no'].map((one) => `${one} ${word} lamp`),
  );
  // With a limit of 1, a page does not look at all hits, so it counts with look-ups.
  const asked = [
    {},
    { order: 'newest' },
    { order: 'newest', limit: '1' },
    { per: 'message' },
    { author: 'visitor' },
    { author: 'operator' },
  ];
  const answers = (): Promise<string[]> =>
    Promise.all(
      [word, `"${word} lamp"`].flatMap((query) =>
        asked.map(async (more) => (await search(query, { kinds: 'messages', ...more }, narrow)).text),
      ),
    );
  const before = await answers();
  for (const text of [before[0], before[2]]) expect(text).toContain('"matches":4');
  await hide(
    id,
    Array.from({ length: count }, (_, n) => `hidden ${word} lamp ${n}`),
  );
  expect(await answers()).toEqual(before);
  return before.length;
}

describe('TN-04 matches and authors', () => {
  it.each(hidden)('TN-04 %s change no count and no answer', async (_, hide) => {
    expect(await interferes(hide)).toBe(12);
  });

  it('TN-04 internal messages in long conversations do not end a page', async () => {
    const { token: narrow } = await gateway.issue({ websites: ['web_1_1'] });
    const { sql } = gateway.database;
    const first = last + 1;
    last += 60;
    await sql`INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, created_at, updated_at)
      SELECT 1, 1, n, 'long ' || n, 'closed', 'chat', now(), now() FROM generate_series(${first}::bigint, ${last}) n`;
    await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
      SELECT 1, 1, n, 'look ' || n, n, 'visitor', 'public', 'text', 'zqlook', now() - interval '1 day' + (n - ${first}) * interval '1 second'
        FROM generate_series(${first}::bigint, ${last}) n`;
    const sizes = async (): Promise<number[]> => {
      const more = { kinds: 'messages', order: 'newest', limit: '30' };
      const { body } = await search('zqlook', more, narrow);
      const next = await search('zqlook', { ...more, cursor: body.next_cursor }, narrow);
      return [body.results.length, next.body.results.length];
    };
    expect(await sizes()).toEqual([30, 30]);
    await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
      SELECT 1, 1, ${last} + n, 'internal ' || ${last} + n, ${first} + n % 30, 'operator', 'internal', 'text', 'secret', now() - interval '2 days'
        FROM generate_series(1, 15600) n`;
    last += 15_600;
    expect(await sizes()).toEqual([30, 30]);
  });

  it('TN-04 the cases find a count of internal messages, and a conversation that they make too long', async () => {
    const { sql } = gateway.database;
    const [row] = await sql<{ body: string }[]>`
      SELECT pg_get_functiondef('platform.search_matches'::regproc) AS body`;
    const body = row?.body ?? '';
    const hide = hidden[0][1];
    try {
      for (const [right, wrong, count] of [
        ['(n.p).kind, (n.p).internal,', '(n.p).kind, true,', 130],
        ['IF p.internal THEN', 'IF true THEN', 2_100],
      ] as const) {
        expect(body.includes(right), right).toBe(true);
        await sql.unsafe(body.replace(right, wrong));
        await expect(interferes(hide, count), wrong).rejects.toThrow(/to deeply equal/);
        await sql.unsafe(body);
        expect(await interferes(hide, count)).toBe(12);
      }
    } finally {
      await sql.unsafe(body);
    }
  });
});
