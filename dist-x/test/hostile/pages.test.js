import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestGateway } from '../support/gateway.js';
/**
 * The size of a page is limited in bytes, and a search reads only a limited number of rows for each page. When a client
 * follows the cursors, the client must get every row exactly once.
 */
let gateway;
let token;
beforeAll(async () => {
    gateway = await openTestGateway('empty');
    await website(gateway.database.sql);
    ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());
const SEARCHED = 10_000;
const PAGE_BYTES = 524_288;
const planted = (sql, text) => sql.begin((one) => one.unsafe(`SET LOCAL session_replication_role = replica; ${text}`));
const website = (sql) => planted(sql, `INSERT INTO platform.organization (tenant, external_id, name) VALUES (1, 'o', 'Organization');
     INSERT INTO platform.website (tenant, site, external_id, name, time_zone) SELECT 1, s, 's' || s, 'Site', 'UTC' FROM generate_series(1, 3) s;
     INSERT INTO platform.channel (tenant, site, id, external_id, platform) SELECT 1, 3, n, 'h' || n, 'chat' FROM generate_series(1, 2) n;
     INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) VALUES (1, 1, 1, 'v1', now());`);
async function walk(path, member, bearer = token) {
    const pages = [];
    const bytes = [];
    let cursor = null;
    do {
        const answer = await gateway.ask(`${path}${cursor === null ? '' : `&cursor=${cursor}`}`, { token: bearer });
        expect(answer.status).toBe(200);
        pages.push(answer.body.data[member].map(({ id }) => id));
        bytes.push(answer.bytes.length);
        cursor = answer.body.data.next_cursor;
        expect(pages.length).toBeLessThan(60);
    } while (cursor !== null);
    return { pages, bytes };
}
describe('pages of long texts', () => {
    async function conversation(id, sizes, letter = 'x') {
        await planted(gateway.database.sql, `INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, created_at, updated_at)
         VALUES (1, 1, ${id}, 'c${id}', 'closed', 'chat', now(), now());
       INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
         SELECT 1, 1, ${id} * 1000 + n, 'm${id}-' || n, ${id}, 'visitor', 'public', 'text', repeat('${letter}', size / octet_length('${letter}')), now()
           FROM unnest('{${sizes.join()}}'::integer[]) WITH ORDINALITY AS s (size, n);`);
        return `/api/v1/conversations/cnv_1_1_${id}/messages?limit=100`;
    }
    const idsOf = (id, count) => Array.from({ length: count }, (_, n) => `msg_1_1_${id * 1000 + n + 1}`);
    it.each(['asc', 'desc'])('end early and are walked without a gap, %s', async (order) => {
        const base = order === 'asc' ? 11 : 12;
        const sizes = Array.from({ length: 130 }, (_, n) => [32_768, 90, 12_000, 32_768, 0, 5_190, 5_191][n % 7] ?? 0);
        const path = await conversation(base, sizes);
        const { pages, bytes } = await walk(`${path}&order=${order}`, 'messages');
        const ids = idsOf(base, sizes.length);
        expect(pages.flat()).toEqual(order === 'asc' ? ids : ids.reverse());
        expect(Math.max(...bytes)).toBeLessThan(PAGE_BYTES + 100_000);
        const weights = pages.map((page) => page.map((id) => sizes[Number(id.split('_')[3]) - base * 1000 - 1] ?? 0));
        const sum = (all) => all.reduce((a, b) => a + b, 0);
        for (const [n, page] of weights.entries()) {
            expect(sum(page.slice(0, -1))).toBeLessThanOrEqual(PAGE_BYTES);
            if (n < pages.length - 1 && page.length < 100)
                expect(sum(page)).toBeGreaterThan(PAGE_BYTES);
        }
    });
    it.each([
        ['the last text is the one too many', 17, [17]],
        ['one more than fit', 18, [17, 1]],
        ['many', 40, [17, 17, 6]],
    ])('%s: %i texts of 32 KiB', async (_, count, expected) => {
        const path = await conversation(20 + count, Array(count).fill(32_768));
        expect((await walk(path, 'messages')).pages.map(({ length }) => length)).toEqual(expected);
    });
    it('a text that is longer than a page comes by itself, and is cut', async () => {
        const path = await conversation(90, [600_000, 10, 600_000, 10]);
        expect((await walk(`${path}&order=asc`, 'messages')).pages.map(({ length }) => length)).toEqual([1, 2, 1]);
        const { body } = await gateway.ask(path, { token });
        expect(body.data.messages[1].text).toHaveLength(32_768);
        expect(body.data.messages.map((one) => one.text_truncated)).toEqual([false, true]);
    });
    it('bytes count and not characters', async () => {
        const path = await conversation(91, Array(20).fill(96_000), '€');
        expect((await walk(path, 'messages')).pages.map(({ length }) => length)).toEqual([6, 6, 6, 2]);
    });
    it('short texts fill a page, and what was redacted is null', async () => {
        const path = await conversation(92, Array(100).fill(5_000));
        await gateway.database.sql `UPDATE platform.message SET redacted = true WHERE id = 92001`;
        const { pages } = await walk(`${path}&order=asc`, 'messages');
        expect(pages.map(({ length }) => length)).toEqual([100]);
        const { body } = await gateway.ask(`${path}&order=asc`, { token });
        expect([body.data.messages[0].text, body.data.messages[1].text.length]).toEqual([null, 5_000]);
    });
    it('notes and saved responses, too', async () => {
        await planted(gateway.database.sql, `INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at)
         SELECT 1, 1, n, 'n' || n, 1, repeat('x', 32768), now() FROM generate_series(1, 40) n;
       INSERT INTO platform.saved_response (tenant, site, id, external_id, label, content, category_name, language, platform_id, scope)
         SELECT 1, 1, n, 'r' || n, 'label', repeat('x', 32768), 'all', 'en', -1, 'global' FROM generate_series(1, 40) n;`);
        const notes = await walk('/api/v1/visitors/vis_1_1_1/notes?limit=100', 'notes');
        expect(notes.pages.map(({ length }) => length)).toEqual([17, 17, 6]);
        expect(new Set(notes.pages.flat()).size).toBe(40);
        const saved = await walk('/api/v1/saved_responses?website_id=web_1_1&limit=100', 'saved_responses');
        expect(saved.pages.map(({ length }) => length)).toEqual([17, 17, 6]);
        expect(new Set(saved.pages.flat()).size).toBe(40);
    });
});
describe('subject search', () => {
    const COUNT = 25_000;
    /** The ids of the conversations that contain the searched word, newest first. */
    const FOUND = [249_990, 249_980, 130_000, 20_000, 10];
    const conversations = (site, from, channel) => planted(gateway.database.sql, `INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, channel_id, subject, created_at, updated_at)
         SELECT 1, ${site}, n * 10 + ${from}, 'k${site}-${from}-' || n, 'closed', 'chat', ${channel},
                CASE WHEN n * 10 + ${from} IN (${FOUND.join()}) THEN 'A Needle 50%' ELSE 'Hay ' || n END,
                now() - interval '1 day' + n * interval '1 second', now() - interval '1 day' + n * interval '1 second'
           FROM generate_series(1, ${COUNT}) n;
       ANALYZE platform.conversation;`);
    const idsOf = (site, ids) => ids.map((id) => `cnv_1_${site}_${id}`);
    it('looks at a bounded number of rows, and its walk finds each match once, in both orders', async () => {
        await conversations(2, 0, 1);
        const path = '/api/v1/conversations?website_id=web_1_2&query=needle';
        const newest = await walk(path, 'conversations');
        // A search looks at 10,000 rows for each page. The second page therefore covers rows 10,000 to 20,000, counted from
        // the newest row. The second page has one match.
        expect(newest.pages).toEqual([idsOf(2, FOUND.slice(0, 2)), idsOf(2, FOUND.slice(2, 3)), idsOf(2, FOUND.slice(3))]);
        const oldest = await walk(`${path}&order=updated_asc`, 'conversations');
        expect(oldest.pages.flat()).toEqual(idsOf(2, [...FOUND].reverse()));
        const single = await walk(`${path}&limit=1`, 'conversations');
        expect(single.pages.flat()).toEqual(idsOf(2, FOUND));
        const nothing = await walk('/api/v1/conversations?website_id=web_1_2&query=nowhere', 'conversations');
        expect(nothing.pages).toEqual(Array(Math.ceil(COUNT / SEARCHED)).fill([]));
        const both = await walk(`${path}&order=updated_asc&limit=2`, 'conversations');
        expect(both.pages.flat()).toEqual(idsOf(2, [...FOUND].reverse()));
    });
    it('TN-04 ends its pages by what the caller may see: invisible conversations change no byte', async () => {
        await conversations(3, 0, 1);
        const restricted = await gateway.issue({ websites: ['web_1_3'], channels: ['chn_1_3_1'] });
        const said = async () => {
            const answers = [];
            for (const query of ['needle', 'nowhere', 'hay 2']) {
                for (const order of ['desc', 'updated_asc']) {
                    let cursor = null;
                    for (let n = 0; n < 5; n++) {
                        const path = `/api/v1/conversations?website_id=web_1_3&query=${query}&order=${order}${cursor === null ? '' : `&cursor=${cursor}`}`;
                        const { text, body } = await gateway.ask(encodeURI(path), { token: restricted.token });
                        answers.push(text);
                        cursor = body.data.next_cursor;
                        if (cursor === null)
                            break;
                    }
                }
            }
            return answers;
        };
        const before = await said();
        expect(before.length).toBeGreaterThan(15);
        await conversations(3, 5, 2);
        expect(await said()).toEqual(before);
    });
});
//# sourceMappingURL=pages.test.js.map