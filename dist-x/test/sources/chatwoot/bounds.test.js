import { afterEach, beforeEach, expect, test } from 'vitest';
import { PositionLost } from '../../../src/sources/source.js';
import { put, seed } from '../../support/chatwoot/source-rows.js';
import { chatwootWorld, recordsIn } from '../../support/chatwoot/source-world.js';
import { collected } from '../../support/sources.js';
const MIB = 1024 * 1024;
let world;
beforeEach(async () => {
    world = await chatwootWorld();
    await world.grant('live');
    await seed(world.sql);
});
afterEach(() => world.close());
/** Reads all pages. Each page must be bounded. Returns the number of pages too. */
async function bounded(read, from) {
    const changes = [];
    for (let pages = 1, after = from;; pages += 1) {
        const page = await read(after);
        expect(recordsIn(page.changes).length).toBeLessThanOrEqual(2_000);
        // The limit of a page is 8 MiB of texts. The rest of a record is small.
        expect(JSON.stringify(page.changes).length).toBeLessThan(9 * MIB);
        changes.push(...page.changes);
        if (page.after === null || !page.more)
            return { pages, changes, place: page.after ?? after };
        after = page.after;
    }
}
const count = (changes, type) => new Set(recordsIn(changes).flatMap((one) => (one.type === type ? one.external_id : []))).size;
/** One contact with 200 visitors and 20 notes: 4,000 records and 40 MB of notes. */
async function manyNotes() {
    await world.sql.unsafe(`
    INSERT INTO contact_inboxes (id, contact_id, inbox_id, source_id, created_at, updated_at)
      SELECT n, 1, 1, 's' || n, '2026-11-01', '2026-11-01' FROM generate_series(2, 200) n;
    INSERT INTO notes (id, account_id, contact_id, user_id, content, created_at, updated_at)
      SELECT n, 1, 1, 1, repeat('x', 10000), '2026-11-01', '2026-11-01' FROM generate_series(1, 20) n`);
}
const changesOf = (source) => (after) => source.changes(after);
test('a load is split where the notes of many visitors fill a page', async () => {
    await manyNotes();
    const source = world.open({ mode: 'poll' });
    const { pages, changes } = await bounded((after) => source.load(after), { load: 'notes', id: 0 });
    expect(count(changes, 'note')).toBe(4_000);
    expect(pages).toBeGreaterThan(4);
});
test('notes that are short are bounded by the number of their records', async () => {
    await manyNotes();
    await world.sql `UPDATE notes SET content = 'short'`;
    const source = world.open({ mode: 'poll' });
    const { changes } = await bounded((after) => source.load(after), { load: 'notes', id: 0 });
    expect(count(changes, 'note')).toBe(4_000);
});
test.each(['live', 'poll'])('in %s mode, a visit brings only the notes of the visitor', async (mode) => {
    await manyNotes();
    const source = world.open({ mode });
    let start = await bounded(changesOf(source), await source.begin());
    // The first rounds of polling tell the newest rows once more.
    while (mode === 'poll' && count(start.changes, 'note') > 0)
        start = await bounded(changesOf(source), start.place);
    await world.sql `UPDATE conversations SET contact_last_seen_at = now(), updated_at = now()`;
    const { changes, place } = await bounded(changesOf(source), start.place);
    expect(count(changes, 'note')).toBe(20);
    expect(recordsIn(changes).filter(({ type }) => type === 'note')).toHaveLength(20);
    // All visitors and all notes change.
    await world.sql `UPDATE contact_inboxes
    SET updated_at = now(), created_at = created_at - interval '1 second', contact_id = 2`;
    await world.sql `UPDATE contact_inboxes SET contact_id = 1`;
    await world.sql `UPDATE notes SET content = content || '!', updated_at = now()`;
    const all = await bounded(changesOf(source), place);
    expect(count(all.changes, 'note')).toBe(4_000);
    expect(count(all.changes, 'visitor')).toBe(200);
});
test('each round of polling reads the saved responses in pages', async () => {
    await world.sql `INSERT INTO canned_responses (id, account_id, short_code, content, created_at, updated_at)
    SELECT n, 1, 'r' || n, repeat('x', 19000), '2026-11-01', '2026-11-01' FROM generate_series(1, 1000) n`;
    const source = world.open({ mode: 'poll' });
    const { changes, pages, place } = await bounded(changesOf(source), await source.begin());
    expect(count(changes, 'saved_response')).toBe(1_000);
    expect(pages).toBe(3);
    await world.sql `DELETE FROM canned_responses WHERE id > 2`;
    const next = await bounded(changesOf(source), place);
    expect(next.changes).toContainEqual({
        from: 'canned_responses/0',
        only: { of: 'saved_response', prefix: 'cw:1:saved_response:' },
        keep: ['cw:1:saved_response:1', 'cw:1:saved_response:2'],
    });
});
test('operators who leave are found, although the round has several pages', async () => {
    await put(world.sql, 'users', { id: 2, name: 'Second', email: 'second@example.org', uid: 'second' });
    await put(world.sql, 'account_users', { account_id: 1, user_id: 2, role: 0 });
    await world.sql `INSERT INTO canned_responses (id, account_id, short_code, content, created_at, updated_at)
    SELECT n, 1, 'r' || n, repeat('x', 100000), '2026-11-01', '2026-11-01' FROM generate_series(1, 100) n`;
    const source = world.open({ mode: 'poll' });
    const { place } = await bounded(changesOf(source), await source.begin());
    await world.sql `DELETE FROM account_users WHERE user_id = 2`;
    const { changes, pages } = await bounded(changesOf(source), place);
    expect(pages).toBe(2);
    expect(recordsIn(changes).find((one) => one.external_id === 'cw:1:operator:2')).toMatchObject({ enabled: false });
});
test('in live mode, a change of the account brings at most a page of saved responses', async () => {
    await world.sql `INSERT INTO canned_responses (id, account_id, short_code, content, created_at, updated_at)
    SELECT n, 1, 'r' || n, repeat('x', 19000), '2026-11-01', '2026-11-01' FROM generate_series(1, 1000) n`;
    const source = world.open();
    const start = await bounded(changesOf(source), await source.begin());
    await world.sql `UPDATE accounts SET locale = 2`;
    const { changes } = await bounded(changesOf(source), start.place);
    expect(count(changes, 'website')).toBe(1);
    expect(count(changes, 'saved_response')).toBe(441);
});
test('rows with huge ids neither lengthen a load nor stop it, and hide no new message from polling', async () => {
    const huge = ['1000000000000000', '1000000000000001'];
    for (const id of [...huge, '9223372036854775807'])
        await world.sql `INSERT INTO notes (id, account_id, contact_id, content, created_at, updated_at)
      VALUES (${id}, 1, 1, 'huge', '2026-11-01', '2026-11-01')`;
    for (const id of [1, 2147483647])
        await put(world.sql, 'messages', { id, account_id: 1, inbox_id: 1, conversation_id: 1, message_type: 0 });
    const source = world.open({ mode: 'poll' });
    const { changes, pages } = await bounded((after) => source.load(after), { load: 'messages', id: 0 });
    expect(count(changes, 'message')).toBe(2);
    const notes = recordsIn(changes).flatMap(({ type, external_id }) => (type === 'note' ? external_id : []));
    expect(notes).toEqual(huge.map((id) => `cw:1:note:${id}:1`));
    expect(pages).toBeLessThan(8);
    const start = await bounded(changesOf(source), await source.begin());
    await world.sql `UPDATE messages SET content = 'new', updated_at = now() WHERE id = 1`;
    const round = await bounded(changesOf(source), start.place);
    const first = recordsIn(round.changes).find(({ external_id }) => external_id === 'cw:1:message:1');
    expect(first).toMatchObject({ text: 'new' });
});
test('rows that wait for other rows are read again in pages, and a content has no more attachments than a page', async () => {
    await world.sql `INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, content, created_at, updated_at)
    SELECT n, 1, 1, 1, 0, repeat('x', 500000), '2026-11-01', '2026-11-01' FROM generate_series(1, 50) n`;
    const source = world.open();
    const names = Array.from({ length: 50 }, (_, i) => `messages/${i + 1}`);
    const pages = await collected(source.reread(names));
    expect(pages.map((page) => recordsIn(page).length)).toEqual([16, 16, 16, 2]);
    const start = await bounded(changesOf(source), await source.begin());
    await put(world.sql, 'active_storage_blobs', {
        id: 1,
        key: 'k',
        filename: 'f',
        byte_size: 1,
        service_name: 'local',
        created_at: '2026-11-01',
    });
    await world.sql `INSERT INTO active_storage_attachments (id, name, record_type, record_id, blob_id, created_at)
    SELECT n, 'file', 'Attachment', n, 1, '2026-11-01' FROM generate_series(1, 2001) n`;
    const { place } = await bounded(changesOf(source), start.place);
    await world.sql `INSERT INTO active_storage_blobs SELECT (jsonb_populate_record(b, '{"id": 2, "key": "l"}')).* FROM active_storage_blobs b`;
    await world.sql `UPDATE active_storage_attachments SET blob_id = 2 WHERE id % 2 = 0`;
    await world.sql `UPDATE active_storage_blobs SET filename = 'f2'`;
    const { pages: two, place: next } = await bounded(changesOf(source), place);
    expect(two).toBeGreaterThan(1);
    await world.sql `UPDATE active_storage_attachments SET blob_id = 1`;
    await world.sql `UPDATE active_storage_blobs SET filename = 'g'`;
    await expect(bounded(changesOf(source), next)).rejects.toThrow(PositionLost);
});
//# sourceMappingURL=bounds.test.js.map