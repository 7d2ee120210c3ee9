import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestGateway } from '../../support/gateway.js';
/** A page of a search for a phrase ends after this many texts that hold all words of the phrase. */
const CANDIDATES = 500;
let gateway;
let token;
let next = 1_000_000;
beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());
/** Adds messages that are newer than all others, one second apart. Returns the native id of the first message. */
async function say(text, count, { visibility = 'public', conversation = 1 } = {}) {
    const first = next;
    next += count;
    await gateway.database.sql `
    INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
    SELECT 1, 1, i, 'said ' || i, ${conversation}, 'operator', ${visibility}, 'text', ${text}, '2027-01-01'::timestamptz + i * interval '1 second'
      FROM generate_series(${first}::integer, ${next - 1}::integer) i`;
    return first;
}
async function pages(query, more = {}) {
    const all = [];
    for (let cursor = null; all.length < 20;) {
        const sent = new URLSearchParams({ query, ...more, ...(cursor !== null && { cursor }) });
        const { status, body } = await gateway.ask(`/api/v1/search?${sent}`, { token });
        expect(status).toBe(200);
        cursor = body.next_cursor;
        all.push({ hits: body.results.map(({ message_id }) => message_id), cursor });
        if (cursor === null)
            return all;
    }
    return expect.fail('the search has no last page');
}
it.each(['best', 'newest'])('a phrase whose words are often in one text but rarely side by side is found after empty pages, in the order %s', async (order) => {
    const word = `quartz${order}`;
    const old = await say(`the ${word} lamp`, 1, { conversation: 2 });
    await say(`a lamp of ${word}`, CANDIDATES * 2 + 1);
    const found = await pages(`"${word} lamp"`, { order });
    expect(found.map(({ hits }) => hits)).toEqual([[], [], [`msg_1_1_${old}`]]);
    expect((await pages(`"${word} candle"`, { order })).map(({ hits }) => hits)).toEqual([[]]);
});
it('messages that the caller does not search change no page and no cursor', async () => {
    const old = await say('the velvet rope', 1, { conversation: 2 });
    await say('a rope of velvet', CANDIDATES + 10);
    const before = await pages('"velvet rope"');
    expect(before.map(({ hits }) => hits)).toEqual([[], [`msg_1_1_${old}`]]);
    await say('a rope of velvet', CANDIDATES * 2, { visibility: 'internal' });
    expect(await pages('"velvet rope"')).toEqual(before);
    expect(await pages('"velvet rope"', { include_internal: 'true' })).toHaveLength(4);
});
//# sourceMappingURL=phrases.test.js.map