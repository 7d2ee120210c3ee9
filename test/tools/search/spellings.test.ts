import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../support/answer.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { rpc as mcp } from '../../support/surfaces/mcp.ts';

let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());

type Query = Readonly<Record<string, string>>;
const search = (query: string, more: Query = {}): Promise<Answer> =>
  gateway.ask(`/api/v1/search?${new URLSearchParams({ query, ...more })}`, { token });
const ids = ({ body }: Answer): string[] => body.results.map(({ id }: { id: string }) => id);

let last = 7_000_000;
/** Stores a message in each of some conversations of website 1. Returns the id of the first. */
async function say(text: string, conversations: readonly number[] = [1]): Promise<number> {
  const first = last + 1;
  last += conversations.length;
  for (const [i, conversation] of conversations.entries())
    await gateway.database
      .sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
      VALUES (1, 1, ${first + i}, ${`spelt ${first + i}`}, ${conversation}, 'visitor', 'public', 'text', ${text}, now())`;
  return first;
}
const spellings = async (word: string): Promise<number[]> => {
  const rows = await gateway.database.sql<{ id: string }[]>`
    SELECT id FROM platform.spelling WHERE tenant = 1 AND site = 1 AND kind = 'message' AND key = ${word} AND word = ${word}`;
  return rows.map(({ id }) => Number(id));
};

describe('a misspelt word', () => {
  it.each([
    ['a letter is missing', 'delivry'],
    ['a letter is doubled', 'deliivery'],
    ['two letters are swapped', 'deilvery'],
    ['a letter is replaced', 'delovery'],
    ['a letter is too much', 'delixvery'],
    ['the first letter is wrong', 'felivery'],
    ['letter case and accents', 'DÉLIVRY'],
  ])('finds what the right word finds: %s', async (_, query) => {
    const [right, wrong] = [await search('delivery', { limit: '50' }), await search(query, { limit: '50' })];
    expect(wrong.status, wrong.text).toBe(200);
    expect(ids(wrong)).toEqual(ids(right));
    expect(ids(wrong).length).toBeGreaterThan(5);
    const word = query === 'DÉLIVRY' ? 'delivry' : query;
    expect(wrong.body.corrected).toEqual([{ word, used: ['delivery'] }]);
    expect(right.body).not.toHaveProperty('corrected');
    const shown = wrong.body.results.find(({ kind }: { kind: string }) => kind === 'message');
    expect(shown.snippet.toLowerCase()).toContain('delivery');
  });

  it('has the same answer over MCP', async () => {
    const { body } = await mcp(gateway.port, token, 'tools/call', { name: 'search', arguments: { query: 'delivry' } });
    expect(body.result.structuredContent.data).toEqual((await search('delivry')).body);
  });

  it('stands beside other words, in each part beside or', async () => {
    await say('zqtrombone for the orchestra');
    expect((await search('zqtrombnoe orchestra')).body.results).toHaveLength(1);
    expect((await search('zqtrombnoe violin')).body.results).toEqual([]);
    const { body } = await search('zqtrombnoe -violin or zqnothing');
    expect(body.results).toHaveLength(1);
    expect(body.corrected).toEqual([{ word: 'zqtrombnoe', used: ['zqtrombone'] }]);
  });

  it.each(['"delivry"', 'order -delivry', 'order -"delivry"', 'by-delivry', 'zq東亰', '東亰'])(
    'is left as it is in %s',
    async (query) => {
      const { body, status } = await search(query);
      expect(status).toBe(200);
      expect(body).not.toHaveProperty('corrected');
    },
  );

  it('is searched alone as soon as a text holds it', async () => {
    expect((await search('zqviolni')).body.results).toEqual([]);
    await say('zqviolin');
    expect((await search('zqviolni')).body.corrected).toEqual([{ word: 'zqviolni', used: ['zqviolin'] }]);
    await say('zqviolni', [2]);
    const { body } = await search('zqviolni');
    expect([body.results.length, body.corrected]).toEqual([1, undefined]);
  });

  it.each(['newest', 'best'])('has one query on all pages of a walk in the order %s', async (order) => {
    const word = `zqcello${order}`;
    await say(word, [3, 4, 5, 6, 7]);
    const first = await search(`${word}z`, { limit: '2', order });
    // The next page would search only the misspelt word without the mark in the cursor.
    await say(`${word}z`, [8]);
    const found = ids(first);
    let cursor: string | null = first.body.next_cursor;
    while (cursor !== null) {
      const page = await search(`${word}z`, { limit: '2', order, cursor });
      expect(page.status, page.text).toBe(200);
      found.push(...ids(page));
      cursor = page.body.next_cursor;
    }
    expect(found.sort()).toEqual([3, 4, 5, 6, 7].map((id) => `cnv_1_1_${id}`));
  });
});

describe('the spellings of the store', () => {
  it('leave with the last text that holds the word, and stay with another', async () => {
    const { sql } = gateway.database;
    const first = await say('zqbassoon');
    const second = await say('a ZQBASSOON again', [9]);
    expect(await spellings('zqbassoon')).toEqual([first]);
    await sql`UPDATE platform.message SET redacted = true WHERE tenant = 1 AND site = 1 AND id = ${first}`;
    expect(await spellings('zqbassoon')).toEqual([second]);
    expect(ids(await search('zqbasson'))).toEqual(['cnv_1_1_9']);
    await sql`DELETE FROM platform.message WHERE tenant = 1 AND site = 1 AND id = ${second}`;
    expect(await sql`SELECT FROM platform.spelling WHERE word = 'zqbassoon'`).toEqual([]);
  });

  it('leaves also when two transactions remove the last two texts at once', async () => {
    const { sql } = gateway.database;
    const [first, second] = [await say('zqoboes are loud'), await say('zqoboes are soft')];
    const redact = (by: typeof sql, id: number) =>
      by`UPDATE platform.message SET redacted = true WHERE tenant = 1 AND site = 1 AND id = ${id}`;
    const [one, two] = [await sql.reserve(), await sql.reserve()];
    try {
      await one`BEGIN`;
      await two`BEGIN`;
      await redact(one, first);
      const waiting = redact(two, second);
      await Promise.race([waiting, new Promise((resolve) => setTimeout(resolve, 300))]);
      await one`COMMIT`;
      await waiting;
      await two`COMMIT`;
    } finally {
      one.release();
      two.release();
    }
    expect(await sql`SELECT FROM platform.spelling WHERE word = 'zqoboes'`).toEqual([]);
  });

  it('are the words of all texts, whether triggers or the upgrade noted them', async () => {
    const { sql } = gateway.database;
    const noted = async (): Promise<string[]> => {
      const rows = await sql<{ one: string }[]>`
        SELECT concat_ws(' ', tenant, site, kind, key, word) AS one FROM platform.spelling GROUP BY tenant, site, kind, key, word`;
      return rows.map(({ one }) => one).sort();
    };
    const triggers = await noted();
    expect(triggers.length).toBeGreaterThan(1_000);
    const kinds = ['message', 'internal', 'subject', 'note', 'contact'];
    for (const kind of kinds)
      expect(
        triggers.some((one) => one.split(' ')[2] === kind),
        kind,
      ).toBe(true);
    const tables = [
      ['contact', 'contact', "'contact' AS said_kind, CASE WHEN NOT deleted THEN name END AS said_text"],
      ['note', 'note', "'note' AS said_kind, coalesce(title || ': ', '') || text AS said_text"],
      ['subject', 'conversation', "'subject' AS said_kind, subject AS said_text"],
      [
        'message',
        'message',
        "CASE visibility WHEN 'internal' THEN 'internal' ELSE 'message' END AS said_kind, CASE WHEN NOT redacted THEN text END AS said_text",
      ],
    ] as const;
    await sql`TRUNCATE platform.spelling`;
    for (const [kind, table, said] of tables)
      await sql`INSERT INTO gateway.unspelled (kind, relation, said) VALUES (${kind}, ${`platform.${table}`}, ${said})`;
    // No word is corrected meanwhile.
    expect((await search('delivry')).body.results).toEqual([]);
    for (const [kind] of tables) {
      let more = true;
      while (more) more = (await sql`SELECT gateway.spell_rows(${kind}, 500) AS more`)[0]?.['more'] === true;
    }
    expect(await noted()).toEqual(triggers);
    expect((await search('delivry')).body.corrected).toHaveLength(1);
  });

  it('leave with their website', async () => {
    const { sql } = gateway.database;
    expect(await sql`SELECT FROM platform.spelling WHERE tenant = 1 AND site = 1 LIMIT 1`).toHaveLength(1);
    await sql`DELETE FROM platform.website WHERE tenant = 1 AND site = 1`;
    expect(await sql`SELECT FROM platform.spelling WHERE tenant = 1 AND site = 1 LIMIT 1`).toHaveLength(0);
  });
});
