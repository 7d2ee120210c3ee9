import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseRecord } from '../../../src/sources/engine/parse-record.js';
import { rowOf } from '../../../src/sources/engine/row.js';
import { attachment, conversation, message, put, seed } from '../../support/chatwoot/source-rows.js';
import { chatwootWorld, loaded, problemsOf, recordsIn, } from '../../support/chatwoot/source-world.js';
let world;
beforeEach(async () => {
    world = await chatwootWorld();
    await world.grant('poll');
    await seed(world.sql);
});
afterEach(() => world.close());
const NONE = { type: '', external_id: '' };
const messages = async () => {
    const records = new Map((await loaded(world.open({ mode: 'poll' }))).map((one) => [one.external_id, one]));
    return (id) => records.get(`cw:1:message:${id}`) ?? NONE;
};
test('the author comes from the type and the sender', async () => {
    const { sql } = world;
    await put(sql, 'agent_bots', { id: 3, account_id: null, name: 'Bot' });
    await put(sql, 'captain_assistants', { id: 4, account_id: 1, name: 'Captain' });
    const rows = [
        { message_type: 0, sender_type: 'Contact', sender_id: 1 },
        { message_type: 1, sender_type: 'User', sender_id: 1 },
        { message_type: 1, sender_type: 'AgentBot', sender_id: 3 },
        { message_type: 1, sender_type: 'Captain::Assistant', sender_id: 4 },
        { message_type: 1 },
        { message_type: 1, sender_type: 'User', sender_id: 99 },
        { message_type: 2, sender_type: 'User', sender_id: 1 },
        { message_type: 3 },
        { message_type: 3, sender_type: 'AgentBot', sender_id: 3 },
        { message_type: 9 },
    ];
    for (const [i, row] of rows.entries())
        await message(sql, i + 1, row);
    const at = await messages();
    expect(rows.map((_, i) => [at(i + 1)['author_type'], at(i + 1)['author'], at(i + 1)['kind']])).toEqual([
        ['visitor', 'cw:1:visitor:1', 'text'],
        ['operator', 'cw:1:operator:1', 'text'],
        ['bot', 'cw:1:agent_bot:3', 'text'],
        ['bot', 'cw:1:assistant:4', 'text'],
        ['system', undefined, 'text'],
        ['operator', undefined, 'text'],
        ['system', undefined, 'event'],
        ['system', undefined, 'text'],
        ['bot', 'cw:1:agent_bot:3', 'text'],
        ['message_type 9', undefined, 'text'],
    ]);
    expect(problemsOf(at(10))).toEqual(['invalid_value /author_type']);
});
test('kind, visibility and delivery', async () => {
    const { sql } = world;
    for (const type of [0, 1, 5, 6, 7, 8, 9, 10, 11, 12, 99])
        await message(sql, 100 + type, { content_type: type });
    await message(sql, 1, { content: null });
    await attachment(sql, 1, 1);
    await message(sql, 2, { content: ' ', private: true, status: 3 });
    await message(sql, 3, { status: null });
    const at = await messages();
    expect([0, 1, 5, 6, 7, 8, 9, 10, 11, 12, 99].map((type) => at(100 + type)['kind'])).toEqual('text text text form text html text text text text text'.split(' '));
    expect(at(1)).toMatchObject({ kind: 'attachment_only', visibility: 'public' });
    expect(at(1)).not.toHaveProperty('text');
    expect(at(2)).toMatchObject({ kind: 'text', visibility: 'internal', delivery_status: 'failed' });
    expect(at(3)).toMatchObject({ delivery_status: 'unknown' });
});
test('attributes are a JSON text, an object or nonsense', async () => {
    const { sql } = world;
    await conversation(sql, 2);
    await message(sql, 1);
    await message(sql, 2, { conversation_id: 2 });
    const attributes = [
        [10, JSON.stringify(JSON.stringify({ deleted: true }))],
        [11, JSON.stringify({ deleted: true })],
        [12, JSON.stringify(JSON.stringify({ in_reply_to: 1, external_created_at: 1_700_000_000 }))],
        [13, JSON.stringify({ in_reply_to: '1', external_created_at: '1700000000000' })],
        [14, JSON.stringify({ in_reply_to: 2 })],
        [15, JSON.stringify({ in_reply_to: 4711, external_created_at: 'yesterday' })],
        [16, JSON.stringify({ in_reply_to: 16 })],
        [17, '"{not json"'],
        [18, '[1,2]'],
        [19, 'null'],
        [20, '7'],
        [21, JSON.stringify({ in_reply_to: { id: 1 }, deleted: 'false' })],
    ];
    for (const [id, content_attributes] of attributes)
        await message(sql, id, { content_attributes });
    await message(sql, 22, { content_attributes: null });
    const at = await messages();
    for (const id of [10, 11]) {
        expect(at(id)).toMatchObject({ redacted: true, kind: 'text' });
        expect(at(id)).not.toHaveProperty('text');
    }
    for (const id of [12, 13]) {
        expect(at(id)).toMatchObject({ in_reply_to: 'cw:1:message:1', created_at: '2023-11-14T22:13:20.000Z' });
    }
    for (const id of [14, 15, 16, 17, 18, 19, 20, 21, 22]) {
        expect(at(id)).not.toHaveProperty('in_reply_to');
        expect(at(id)).toMatchObject({ text: `text ${id}`, redacted: false, created_at: '2026-11-01T10:00:00.000000Z' });
    }
});
test('an external time more than a day ahead is ignored', async () => {
    const { sql } = world;
    await conversation(sql, 2);
    const hours = (n) => Math.floor(Date.now() / 1000) + n * 3_600;
    const year2999 = Date.UTC(2999, 0, 1) / 1000;
    for (const [id, at] of [year2999, year2999 * 1000, hours(25), hours(23)].entries())
        await message(sql, id + 1, { conversation_id: 2, content_attributes: JSON.stringify({ external_created_at: at }) });
    const at = await messages();
    for (const id of [1, 2, 3])
        expect(at(id)).toMatchObject({ created_at: '2026-11-01T10:00:00.000000Z' });
    expect(Date.parse(String(at(4)?.['created_at']))).toBeGreaterThan(Date.now() + 22 * 3_600_000);
});
test('an email keeps its plain text, and takes the HTML when the text is empty', async () => {
    const { sql } = world;
    const email = JSON.stringify(JSON.stringify({ email: { html_content: { full: '<p>Hello <b>you</b></p>' } } }));
    await message(sql, 1, { content_type: 8, content: 'if a < b & c > d\nthen', content_attributes: email });
    await message(sql, 2, { content_type: 8, content: null, content_attributes: email });
    await message(sql, 3, { content_type: 8, content: '<p>one</p><p>two</p>' });
    const at = await messages();
    const textOf = (id) => {
        const parsed = parseRecord(at(id));
        return parsed.ok ? rowOf(parsed.record).data['text'] : parsed.problems;
    };
    expect([1, 2, 3].map((id) => at(id)['kind'])).toEqual(['html', 'html', 'html']);
    expect([1, 2, 3].map(textOf)).toEqual(['if a < b & c > d\nthen', 'Hello you', 'one\n\ntwo']);
});
test('messages come in the order of their ids, and orphans do not come', async () => {
    const { sql } = world;
    for (const id of [5, 3, 9, 4])
        await message(sql, id);
    await message(sql, 6, { conversation_id: 77 });
    await put(sql, 'messages', { id: 7, account_id: 2, inbox_id: 1, conversation_id: 1, message_type: 0, content: 'x' });
    const records = await loaded(world.open({ mode: 'poll' }));
    expect(records.filter(({ type }) => type === 'message').map(({ external_id }) => external_id)).toEqual([3, 4, 5, 9].map((id) => `cw:1:message:${id}`));
});
test('pages are bounded by rows and by bytes, and a long text becomes a reject', async () => {
    const { sql } = world;
    await sql `INSERT INTO messages (account_id, inbox_id, conversation_id, message_type, content, created_at, updated_at)
    SELECT 1, 1, 1, 0, 'row ' || n, '2026-11-01', '2026-11-01' FROM generate_series(1, 4500) n`;
    await sql `INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, content, created_at, updated_at)
    SELECT 200000 + n, 1, 1, 1, 0, repeat('x', CASE n WHEN 3 THEN 20000000 ELSE 1000000 END), '2026-11-01', '2026-11-01'
      FROM generate_series(1, 10) n`;
    const source = world.open({ mode: 'poll' });
    const sizes = [];
    const seen = [];
    let after = { load: 'messages', id: 0 };
    while (after !== null) {
        const page = await source.load(after);
        const records = recordsIn(page.changes);
        sizes.push(records.length);
        seen.push(...records);
        after = page.after;
    }
    expect(seen.length).toBe(4510);
    expect(sizes).toEqual([2000, 2000, 500, 5, 5, 0, 0]);
    const long = seen.filter((record) => problemsOf(record).length > 0);
    expect(long.map(({ external_id }) => external_id)).toEqual(['cw:1:message:200003']);
    expect(long[0]?.['text']).toHaveLength(1_000_001);
});
test('a reply to a message that the import refuses stays, without that message', async () => {
    const { sql } = world;
    const to = (id) => ({ content_attributes: JSON.stringify({ in_reply_to: id }) });
    await message(sql, 1, { content: 'x'.repeat(1_000_001) });
    await message(sql, 2, { message_type: 9 });
    // This email is short. As HTML it is too long.
    await message(sql, 3, { content_type: 8, content: '&'.repeat(200_001) });
    await message(sql, 4, { content: 'x'.repeat(1_000_000) });
    for (const id of [1, 2, 3, 4])
        await message(sql, 10 + id, to(id));
    await message(sql, 20, to(11));
    const source = world.open({ mode: 'poll' });
    const replies = async (id) => recordsIn((await source.load({ load: 'messages', id })).changes)
        .filter((one) => problemsOf(one).length === 0)
        .map((one) => [one.external_id.split(':').at(-1), one['in_reply_to']]);
    const expected = [
        ['11', undefined],
        ['12', undefined],
        ['13', undefined],
        ['14', 'cw:1:message:4'],
        ['20', 'cw:1:message:11'],
    ];
    // The answered messages lie in the same page, and then in an earlier page.
    expect(await replies(0)).toEqual([['4', undefined], ...expected]);
    expect(await replies(10)).toEqual(expected);
});
test('an email with large attributes is read whole, and attributes without end make a reject', async () => {
    const { sql } = world;
    const email = (length) => JSON.stringify(JSON.stringify({
        email: { html_content: { full: 'h'.repeat(900_000) }, text_content: { full: 't'.repeat(length) } },
        external_created_at: 1_700_000_000,
    }));
    await message(sql, 1, { content_type: 8, content: null, content_attributes: email(900_000) });
    await message(sql, 2, { content_type: 8, content: null, content_attributes: email(8_000_000) });
    await message(sql, 3, { content_type: 8, content: 'two words', content_attributes: email(8_000_000) });
    const at = await messages();
    expect(problemsOf(at(3))).toEqual([]);
    expect(at(3)).toMatchObject({ text: expect.stringContaining('two words') });
    expect(at(1)['text']).toHaveLength(900_000);
    expect(at(1)).toMatchObject({ created_at: '2023-11-14T22:13:20.000Z' });
    expect(problemsOf(at(1))).toEqual([]);
    expect(problemsOf(at(2))).toEqual(['too_long /text']);
});
//# sourceMappingURL=messages.test.js.map