import * as rows from '../chatwoot/source-rows.js';
import { sentinelOf } from './as-lines.js';
/** Item `n` is in rows with this id. */
const idOf = (n) => 1_000 + n;
/** An item's message. Its sentinel has the next id. */
const messageId = (n) => 100_000 + 2 * n;
/** A poll reads by the time of the last change, so the rows get the current time. */
const changed = () => ({ updated_at: new Date().toISOString() });
const put = (sql, table, row) => rows.put(sql, table, { ...changed(), ...row });
const message = (sql, id, row) => rows.message(sql, id, { ...changed(), ...row });
const conversation = (sql, id, row = {}) => rows.conversation(sql, id, { ...changed(), ...row });
/** A contact with its visitor, conversation and message. */
async function talk(sql, n, row = {}) {
    const id = idOf(n);
    await put(sql, 'contacts', { id, account_id: 1, name: `Contact ${n}`, ...row.contact });
    await put(sql, 'contact_inboxes', { id, contact_id: id, inbox_id: 1, source_id: `p${n}` });
    await conversation(sql, id, { contact_id: id, contact_inbox_id: id, ...row.conversation });
    await message(sql, messageId(n), { conversation_id: id, content: `message ${n}`, ...row.message });
}
const contact = (column) => (sql, n, value) => talk(sql, n, { contact: { [column]: value } });
const talked = (column, more = {}) => (sql, n, value) => talk(sql, n, { message: { [column]: value, ...more } });
const about = (column) => (sql, n, value) => talk(sql, n, { conversation: { [column]: value } });
const attribute = (column) => (sql, n, value) => talk(sql, n, { conversation: { additional_attributes: { [column]: value } } });
const rated = (row) => async (sql, n, value) => {
    await talk(sql, n);
    const own = { account_id: 1, conversation_id: idOf(n), message_id: messageId(n), contact_id: idOf(n) };
    await put(sql, 'csat_survey_responses', { ...own, rating: 5, ...row(value) });
};
const inbox = (column) => async (sql, n, value) => {
    const own = { id: idOf(n), account_id: 1, channel_id: 1, name: `Inbox ${n}`, channel_type: 'Channel::Api' };
    await put(sql, 'inboxes', { ...own, [column]: value });
    await talk(sql, n, { conversation: { inbox_id: idOf(n) } });
};
const response = (column) => async (sql, n, value) => {
    const own = { id: idOf(n), account_id: 1, short_code: `r${n}`, content: 'c' };
    await put(sql, 'canned_responses', { ...own, [column]: value });
};
const file = (column) => async (sql, n, value) => {
    const id = idOf(n);
    const blob = { filename: 'f', content_type: 'text/plain', byte_size: 1, service_name: 'local', created_at: 'now' };
    const link = { name: 'file', record_type: 'Attachment', record_id: id, blob_id: id, created_at: 'now' };
    await talk(sql, n);
    await put(sql, 'attachments', { id, account_id: 1, message_id: messageId(n) });
    await rows.put(sql, 'active_storage_blobs', { id, key: `key${n}`, ...blob, [column]: value });
    await rows.put(sql, 'active_storage_attachments', { id, ...link });
};
/** How Chatwoot's tables hold a poison, by place. */
const INSERTS = {
    'message.text': talked('content'),
    'message.html': talked('content', { content_type: 8 }),
    'message.attributes': talked('content_attributes'),
    'message.time': talked('created_at'),
    'message.type': talked('message_type'),
    'message.format': talked('content_type'),
    'note.text': async (sql, n, value) => {
        await talk(sql, n);
        await put(sql, 'notes', { id: idOf(n), account_id: 1, contact_id: idOf(n), user_id: 1, content: value });
    },
    'contact.name': contact('name'),
    'contact.last_name': contact('last_name'),
    'contact.email': contact('email'),
    'contact.phone': contact('phone_number'),
    'contact.company': (sql, n, value) => talk(sql, n, { contact: { additional_attributes: { company_name: value } } }),
    'contact.country': contact('country_code'),
    'contact.time': contact('created_at'),
    'conversation.subject': attribute('mail_subject'),
    'conversation.language': attribute('conversation_language'),
    'conversation.rating': rated((feedback_message) => ({ feedback_message })),
    'conversation.score': rated((rating) => ({ rating })),
    'conversation.status': about('status'),
    'conversation.time': about('created_at'),
    'channel.name': inbox('name'),
    'channel.type': inbox('channel_type'),
    'team.name': async (sql, n, name) => {
        await put(sql, 'teams', { id: idOf(n), account_id: 1, name });
        await talk(sql, n, { conversation: { team_id: idOf(n) } });
    },
    'operator.name': async (sql, n, name) => {
        await put(sql, 'users', { id: idOf(n), name, email: `${n}@example.org`, uid: `u${n}` });
        await put(sql, 'account_users', { account_id: 1, user_id: idOf(n), role: 0 });
        await talk(sql, n, { conversation: { assignee_id: idOf(n) } });
    },
    'saved_response.content': response('content'),
    'saved_response.label': response('short_code'),
    'file.name': file('filename'),
    'file.media_type': file('content_type'),
    'file.size': file('byte_size'),
};
/** The record of an item, and its row in Chatwoot (`origin`). */
export function recordAt(n, { at }) {
    if (at === 'saved_link.url' || at === 'line' || at === 'query')
        return undefined;
    const [table = '', member = ''] = at.split('.');
    const [source, id] = ROWS[table] ?? ['', idOf];
    const column = COLUMNS[at] ?? member;
    const external = `cw:1:${table}:${id(n)}`;
    return { id: table === 'note' ? `${external}:${idOf(n)}` : external, table, column, origin: `${source}/${id(n)}` };
}
const ROWS = {
    message: ['messages', messageId],
    note: ['notes', idOf],
    contact: ['contacts', idOf],
    conversation: ['conversations', idOf],
    channel: ['inboxes', idOf],
    team: ['teams', idOf],
    operator: ['users', idOf],
    saved_response: ['canned_responses', idOf],
    file: ['attachments', idOf],
};
const COLUMNS = {
    'message.html': 'text',
    'message.attributes': 'text',
    'message.time': 'created_at',
    'message.type': 'author_type',
    'message.format': 'kind',
    'contact.phone': 'mobile',
    'contact.time': 'created_at',
    'conversation.rating': 'rating_label',
    'conversation.score': 'rating_score',
    'conversation.time': 'created_at',
    'channel.type': 'platform',
};
/** PostgreSQL's codes for data that it refuses (class 22, for example a NUL) or that is too long for an index (54). */
const IMPOSSIBLE = /^(22|54)/;
/** Writes the items in one transaction, each with a sentinel after it. Returns those that the database refuses. */
export async function insertAll(sql, items, all) {
    const impossible = new Set();
    await sql `BEGIN`;
    await conversation(sql, 2);
    for (const item of items) {
        const n = all.indexOf(item);
        await sql `SAVEPOINT item`;
        try {
            // The driver would write U+FFFD in place of half a surrogate pair.
            if (/\p{Surrogate}/u.test(item.value) || !(item.at in INSERTS))
                impossible.add(item);
            // `in` above has checked that the place has an insert.
            else
                await INSERTS[item.at](sql, n, item.value);
        }
        catch (error) {
            if (!(error instanceof Error && 'code' in error && IMPOSSIBLE.test(String(error.code))))
                throw error;
            await sql `ROLLBACK TO item`;
            impossible.add(item);
        }
        await message(sql, messageId(n) + 1, { conversation_id: 2, content: sentinelOf(n) });
    }
    await sql `COMMIT`;
    return impossible;
}
//# sourceMappingURL=as-rows.js.map