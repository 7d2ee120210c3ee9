const NOW = '2026-11-01 10:00:00';
/** Inserts a row. Times that are not given have one fixed value. Objects become JSON. */
export async function put(sql, table, row) {
    const stamped = STAMPED.has(table) ? { created_at: NOW, updated_at: NOW, ...row } : row;
    const names = Object.keys(stamped);
    const values = Object.values(stamped).map((value) => typeof value === 'object' && value !== null ? JSON.stringify(value) : value === null ? null : String(value));
    const list = names.map((_, i) => `$${i + 1}::text`);
    const types = await typesOf(sql, table);
    const cast = names.map((name, i) => `${list[i]}::${types.get(name) ?? 'text'}`);
    await sql.unsafe(`INSERT INTO public.${table} (${names.join(', ')}) VALUES (${cast.join(', ')})`, values);
}
const known = new WeakMap();
/** The type of each column. A connection asks once for each table. */
function typesOf(sql, table) {
    const tables = known.get(sql) ?? new Map();
    known.set(sql, tables);
    const types = tables.get(table) ??
        sql `
      SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
       WHERE attrelid = ${`public.${table}`}::regclass AND attnum > 0`.then((rows) => new Map(rows.map(({ name, type }) => [name, type])));
    tables.set(table, types);
    return types;
}
const STAMPED = new Set(`accounts account_users users teams team_members agent_bots captain_assistants inboxes contacts contact_inboxes
  conversations messages attachments csat_survey_responses reporting_events notes canned_responses`.split(/\s+/));
/** Account 1 has one inbox, team, operator, contact, visitor and conversation, all with id 1. Account 2 is empty. */
export async function seed(sql) {
    await put(sql, 'accounts', { id: 1, name: 'Northwind', locale: 4 });
    await put(sql, 'accounts', { id: 2, name: 'Other' });
    await put(sql, 'users', { id: 1, name: 'Ada Lovelace', display_name: 'Ada', email: 'ada@example.org', uid: 'ada' });
    await put(sql, 'account_users', { account_id: 1, user_id: 1, role: 1 });
    await put(sql, 'teams', { id: 1, account_id: 1, name: 'support' });
    await put(sql, 'team_members', { team_id: 1, user_id: 1 });
    await put(sql, 'inboxes', { id: 1, account_id: 1, channel_id: 1, name: 'Site', channel_type: 'Channel::WebWidget' });
    await put(sql, 'contacts', { id: 1, account_id: 1, name: 'Grace', email: 'grace@example.org' });
    await put(sql, 'contact_inboxes', { id: 1, contact_id: 1, inbox_id: 1, source_id: 's1' });
    await conversation(sql, 1);
}
export const conversation = (sql, id, row = {}) => put(sql, 'conversations', {
    id,
    account_id: 1,
    inbox_id: 1,
    contact_id: 1,
    contact_inbox_id: 1,
    display_id: id,
    last_activity_at: NOW,
    ...row,
});
export const message = (sql, id, row = {}) => put(sql, 'messages', {
    id,
    account_id: 1,
    inbox_id: 1,
    conversation_id: 1,
    message_type: 0,
    content: `text ${id}`,
    ...row,
});
export async function attachment(sql, id, messageId, blob = {}) {
    await put(sql, 'attachments', { id, account_id: 1, message_id: messageId });
    await put(sql, 'active_storage_blobs', {
        id,
        key: `abcd${id}`,
        filename: 'plan.pdf',
        content_type: 'application/pdf',
        byte_size: 12,
        service_name: 'local',
        created_at: NOW,
        ...blob,
    });
    await put(sql, 'active_storage_attachments', {
        id,
        name: 'file',
        record_type: 'Attachment',
        record_id: id,
        blob_id: id,
        created_at: NOW,
    });
}
//# sourceMappingURL=source-rows.js.map