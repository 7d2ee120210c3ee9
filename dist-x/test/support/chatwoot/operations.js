import { setTimeout as pause } from 'node:timers/promises';
import { generator, pickFrom } from '../random.js';
const YEARS = 3 * 365 * 86_400_000;
/** Connections for short transactions, and for transactions that stay open for a while. */
const WRITERS = 4;
const HOLDERS = 4;
/** The columns that every new row needs. */
const at = (time) => ({ created_at: time, updated_at: time });
async function insert(sql, table, row) {
    const [made] = await sql `INSERT INTO ${sql(table)} ${sql(row)} RETURNING id::float8 AS id`;
    if (made === undefined)
        throw new Error(`no row of ${table} was made`);
    return made.id;
}
export async function operate(world, given) {
    const { seed, count, rate, committed } = given;
    for (const table of ['contacts', 'contact_inboxes', 'conversations', 'messages', 'notes'])
        await world.sql `SELECT setval(pg_get_serial_sequence(${table}, 'id'), greatest(100, (SELECT max(id) FROM ${world.sql(table)})))`;
    const random = generator(seed);
    const whole = (most) => Math.floor(random() * most);
    const now = () => new Date().toISOString();
    const past = () => new Date(Date.now() - random() * YEARS).toISOString();
    const known = {
        contacts: [1],
        conversations: [1],
        messages: [],
    };
    const counts = {};
    const message = (sql, conversation, time, more = {}) => insert(sql, 'messages', {
        ...at(time),
        ...{ account_id: 1, inbox_id: 1, conversation_id: conversation, message_type: 0 },
        ...{ content: `text ${whole(1e9)}`, ...more },
    });
    /** A message in a transaction of its own. `also` writes the rows that come with it. */
    const told = async (sql, time, more = {}, also = async (_sql, _message, _conversation) => undefined) => {
        const conversation = pickFrom(known.conversations, random);
        const id = await sql.begin(async (t) => {
            const made = await message(t, conversation, time, more);
            await also(t, made, conversation);
            return made;
        });
        known.messages.push(id);
        committed?.({ what: 'message', account: 1, id, at: performance.now() });
    };
    const attach = async (sql, message) => {
        const file = { ...at(now()), account_id: 1, message_id: message };
        const id = await insert(sql, 'attachments', file);
        const blob = await insert(sql, 'active_storage_blobs', {
            ...{ key: `key ${id}`, filename: 'plan.pdf', byte_size: 12, service_name: 'local', created_at: now() },
        });
        const link = { name: 'file', record_type: 'Attachment', record_id: id, blob_id: blob, created_at: now() };
        await insert(sql, 'active_storage_attachments', link);
    };
    const resolve = async (sql, message, conversation) => {
        await sql `UPDATE conversations SET status = 1, updated_at = ${now()} WHERE id = ${conversation}`;
        const about = { ...at(now()), account_id: 1, conversation_id: conversation };
        await insert(sql, 'reporting_events', { ...about, name: 'conversation_resolved' });
        await insert(sql, 'csat_survey_responses', { ...about, message_id: message, rating: 1 + whole(5), contact_id: 1 });
    };
    /** One transaction: a person with a conversation and its messages. */
    const person = async (sql, time, seconds = 0) => {
        const messages = [];
        const more = 1 + whole(9);
        const [contact, conversation] = await sql.begin(async (t) => {
            const id = await insert(t, 'contacts', { ...at(time()), account_id: 1, name: `Person ${whole(1e9)}` });
            const source = `s${id}`;
            const visitor = await insert(t, 'contact_inboxes', {
                ...at(time()),
                ...{ contact_id: id, inbox_id: 1, source_id: source },
            });
            const begun = time();
            const made = await insert(t, 'conversations', {
                ...at(begun),
                ...{ account_id: 1, inbox_id: 1, contact_id: id, contact_inbox_id: visitor, last_activity_at: begun },
            });
            for (let i = 0; i < more; i++)
                messages.push(await message(t, made, time()));
            if (seconds > 0)
                await t `SELECT pg_sleep(${seconds})`;
            return [id, made];
        });
        known.contacts.push(contact);
        known.conversations.push(conversation);
        known.messages.push(...messages);
        for (const id of messages)
            committed?.({ what: 'message', account: 1, id, at: performance.now() });
    };
    const kinds = {
        imported: [20, (sql) => person(sql, past)],
        'imported late': [5, (sql) => person(sql, past, 0.5 + random() * 3)],
        begun: [10, (sql) => person(sql, now)],
        'imported message': [10, (sql) => told(sql, past())],
        message: [20, (sql) => told(sql, now())],
        reply: [
            5,
            (sql) => told(sql, now(), { content_attributes: JSON.stringify({ in_reply_to: pickFrom(known.messages, random) }) }),
        ],
        file: [5, (sql) => told(sql, now(), {}, attach)],
        resolved: [5, (sql) => told(sql, now(), {}, resolve)],
        'imported note': [
            5,
            (sql) => insert(sql, 'notes', {
                ...at(past()),
                ...{ account_id: 1, contact_id: pickFrom(known.contacts, random), content: 'x' },
            }),
        ],
        edited: [
            10,
            (sql) => sql `UPDATE messages SET content = ${`text ${whole(1e9)}`}, updated_at = ${now()} WHERE id = ${pickFrom(known.messages, random)}`,
        ],
        renamed: [
            5,
            (sql) => sql `UPDATE contacts SET name = ${`Person ${whole(1e9)}`}, updated_at = ${now()} WHERE id = ${pickFrom(known.contacts, random)}`,
        ],
        'message deleted': [4, (sql) => sql `DELETE FROM messages WHERE id = ${pickFrom(known.messages, random)}`],
        'conversation deleted': [
            1,
            (sql) => {
                const id = pickFrom(known.conversations.slice(1), random);
                return sql.begin(async (t) => {
                    await t `DELETE FROM messages WHERE conversation_id = ${id}`;
                    await t `DELETE FROM conversations WHERE id = ${id}`;
                });
            },
        ],
    };
    const weighted = Object.keys(kinds).flatMap((kind) => Array.from({ length: kinds[kind]?.[0] ?? 0 }, () => kind));
    const writers = Array.from({ length: WRITERS }, () => world.connect());
    const holders = Array.from({ length: HOLDERS }, () => world.connect());
    await person(world.sql, now);
    const began = performance.now();
    let made = 0;
    const held = [];
    const write = async (sql) => {
        for (let n = made++; n < count; n = made++) {
            await pause(Math.max(0, began + (n * 1000) / rate - performance.now()));
            const kind = pickFrom(weighted, random);
            counts[kind] = (counts[kind] ?? 0) + 1;
            // The transaction stays open while the other operations continue.
            if (kind === 'imported late')
                held.push(kinds[kind]?.[1](pickFrom(holders, random)) ?? Promise.resolve());
            else
                await kinds[kind]?.[1](sql);
        }
    };
    await Promise.all(writers.map(write));
    await Promise.all(held);
    return counts;
}
/** Rows of account 1 in Chatwoot whose owners exist too: their external ids, with their text or name. */
export async function rowsThere(sql) {
    const rows = await sql `
    SELECT 'cw:1:contact:' || id AS id, name AS text FROM contacts WHERE account_id = 1
    UNION ALL SELECT 'cw:1:visitor:' || v.id, NULL FROM contact_inboxes v
    UNION ALL SELECT 'cw:1:conversation:' || id, NULL FROM conversations WHERE account_id = 1
    UNION ALL SELECT 'cw:1:message:' || m.id, m.content FROM messages m JOIN conversations c ON c.id = m.conversation_id
    UNION ALL SELECT 'cw:1:file:' || x.id, NULL FROM attachments x JOIN messages m ON m.id = x.message_id
                JOIN conversations c ON c.id = m.conversation_id
    UNION ALL SELECT 'cw:1:note:' || n.id || ':' || v.id, NULL FROM notes n JOIN contact_inboxes v USING (contact_id)`;
    return new Map(rows.map(({ id, text }) => [id, text]));
}
/** The same rows as an organization of the store has them. */
export async function rowsStored(sql, tenant) {
    const rows = await sql `
    SELECT external_id AS id, name AS text FROM platform.contact WHERE tenant = ${tenant}
    UNION ALL SELECT external_id, NULL FROM platform.visitor WHERE tenant = ${tenant}
    UNION ALL SELECT external_id, NULL FROM platform.conversation WHERE tenant = ${tenant}
    UNION ALL SELECT external_id, text FROM platform.message WHERE tenant = ${tenant}
    UNION ALL SELECT external_id, NULL FROM platform.file WHERE tenant = ${tenant}
    UNION ALL SELECT external_id, NULL FROM platform.note WHERE tenant = ${tenant}`;
    return new Map(rows.map(({ id, text }) => [id, text]));
}
//# sourceMappingURL=operations.js.map