import { attributes, cw, held, together } from './script.js';
const MESSAGE = "nullif(current_setting('rails.message', true), '')::integer";
const touch = (conversation, now) => cw `UPDATE conversations SET updated_at = ${now} WHERE id = ${conversation}`;
const key = (rails) => `${rails.now()}${rails.random()}`;
function attach(rails, file, now) {
    const { name, mediaType, size } = file;
    if (name === null) {
        return `${cw `INSERT INTO attachments (file_type, external_url, coordinates_lat, coordinates_long, fallback_title, created_at, updated_at, account_id, message_id)
      SELECT 4, 'https://maps.example/1', 48.2, 16.4, 'Vienna', ${now}, ${now}, m.account_id, m.id FROM messages m WHERE m.id = `}${MESSAGE}`;
    }
    return `${cw `WITH b AS (
      INSERT INTO active_storage_blobs (key, filename, content_type, metadata, byte_size, checksum, created_at, service_name)
      SELECT ${key(rails)}, ${name}, ${mediaType}, '{"identified":true}', ${size}, 'c2ltdWxhdGVk', ${now}, 'local' FROM messages m WHERE m.id = `}${MESSAGE} RETURNING id
    ), a AS (
      ${cw `INSERT INTO attachments (file_type, extension, created_at, updated_at, account_id, message_id)
      SELECT 3, 'bin', ${now}, ${now}, m.account_id, m.id FROM messages m WHERE m.id = `}${MESSAGE} RETURNING id
    ) INSERT INTO active_storage_attachments (name, record_type, record_id, blob_id, created_at)
      ${cw `SELECT 'file', 'Attachment', a.id, b.id, ${now} FROM a, b`}`;
}
/** One message with its files, and what Rails does after the commit. Null if the conversation is gone. */
export async function createMessage(rails, one) {
    const now = rails.now();
    const { conversation, type, sender, createdAt = now, files = [], hold } = one;
    const changed = one.bySql ? createdAt : now;
    const json = attributes(one.attributes ?? {}, one.twice ?? true);
    const [made] = await rails.commit(together(cw `WITH m AS (
        INSERT INTO messages (content, processed_message_content, account_id, inbox_id, conversation_id, message_type, created_at, updated_at,
                              private, content_type, content_attributes, sender_type, sender_id)
        SELECT ${one.content}, ${one.content}, account_id, inbox_id, id, ${type}, ${createdAt}, ${changed},
               ${one.private ?? false}, ${one.contentType ?? 0}, ${json}, ${sender?.type ?? null}, ${sender?.id ?? null}
          FROM conversations WHERE id = ${conversation} RETURNING id
      ) SELECT set_config('rails.message', (SELECT id::text FROM m), true)`, ...files.map((file) => attach(rails, file, now)), hold === undefined ? undefined : held(hold), one.bySql ? undefined : touch(conversation, now), `SELECT ${MESSAGE} AS id`));
    const id = made?.id ?? null;
    if (id !== null)
        rails.committed('message', id);
    if (id === null || one.bySql)
        return id;
    await rails.commit(cw `UPDATE conversations SET last_activity_at = ${createdAt} WHERE id = ${conversation}`);
    if (type === 0)
        await answered(rails, one, createdAt);
    if (type === 1 && sender?.type === 'User' && !one.private)
        await firstReply(rails, conversation, createdAt);
    if (type === 1)
        rails.later((later) => deliver(later, id, 0));
    return id;
}
async function answered(rails, { conversation, sender }, createdAt) {
    const now = rails.now();
    await rails.commit(cw `UPDATE conversations SET status = 0, snoozed_until = NULL, updated_at = ${now} WHERE id = ${conversation} AND status IN (1, 3)`);
    await rails.commit(cw `UPDATE conversations SET waiting_since = ${createdAt} WHERE id = ${conversation} AND waiting_since IS NULL`);
    if (sender?.type !== 'Contact')
        return;
    await rails.commit(cw `UPDATE contacts SET last_activity_at = ${now}, updated_at = ${now} WHERE id = ${sender.id}`);
}
async function firstReply(rails, conversation, createdAt) {
    const now = rails.now();
    const first = await rails.commit(cw `UPDATE conversations SET first_reply_created_at = ${createdAt}, waiting_since = NULL, updated_at = ${now}
        WHERE id = ${conversation} AND first_reply_created_at IS NULL RETURNING id`);
    if (first.length === 0)
        return;
    rails.later(async (later) => {
        await later.commit(report('first_response', conversation, later.now(), createdAt));
    });
}
/** An event for Chatwoot's reports. A job writes it after the change. */
export const report = (name, conversation, now, end) => cw `INSERT INTO reporting_events (name, value, account_id, inbox_id, user_id, conversation_id, created_at, updated_at, event_start_time, event_end_time)
     SELECT ${name}, 60, account_id, inbox_id, assignee_id, id, ${now}, ${now}, created_at, ${end} FROM conversations WHERE id = ${conversation}`;
/** A channel reports sent (0), delivered (1), read (2) or failed (3). */
export async function deliver(rails, message, status) {
    const now = rails.now();
    await rails.commit(together(cw `UPDATE messages SET status = ${status}, source_id = 'm' || id, updated_at = ${now} WHERE id = ${message}`, cw `UPDATE conversations SET updated_at = ${now} WHERE id = (SELECT conversation_id FROM messages WHERE id = ${message})`));
}
/** The contact opens the conversation. A job marks every sent message as read, one by one. */
export async function seen(rails, conversation) {
    const now = rails.now();
    await rails.commit(cw `UPDATE conversations SET contact_last_seen_at = ${now}, updated_at = ${now} WHERE id = ${conversation}`);
    rails.later(async (later) => {
        const unread = await later.commit(cw `SELECT id FROM messages WHERE conversation_id = ${conversation} AND message_type <> 0 AND status < 2 AND created_at <= ${now} LIMIT 20`);
        for (const { id } of unread)
            await deliver(later, id, 2);
    });
}
/** An agent looks at the conversation. Rails writes this time with update_columns. */
export async function looked(rails, conversation) {
    await rails.commit(cw `UPDATE conversations SET agent_last_seen_at = ${rails.now()} WHERE id = ${conversation}`);
}
/** An agent deletes a message. Its text and attributes are replaced, its attachments removed. */
export async function softDelete(rails, message) {
    const now = rails.now();
    const blobs = await rails.commit(together(cw `UPDATE messages SET content = 'This message was deleted', content_type = 0, content_attributes = ${attributes({ deleted: true })},
               updated_at = ${now} WHERE id = ${message}`, cw `UPDATE conversations SET updated_at = ${now} WHERE id = (SELECT conversation_id FROM messages WHERE id = ${message})`, cw `WITH s AS (
        DELETE FROM active_storage_attachments WHERE record_type = 'Attachment'
           AND record_id IN (SELECT id FROM attachments WHERE message_id = ${message}) RETURNING record_id, blob_id
      ), a AS (DELETE FROM attachments WHERE message_id = ${message}) SELECT blob_id FROM s`));
    rails.committed('redacted', message);
    purge(rails, blobs);
}
export function purge(rails, blobs) {
    for (const { blob_id } of blobs) {
        if (blob_id === undefined)
            continue;
        rails.later(async (later) => {
            await later.commit(cw `DELETE FROM active_storage_blobs WHERE id = ${Number(blob_id)}`);
        });
    }
}
/** A program changes the text of a message, or adds a translation. */
export async function edit(rails, message, content) {
    const now = rails.now();
    await rails.commit(together(cw `UPDATE messages SET content = ${content}, processed_message_content = ${content}, updated_at = ${now}
          WHERE id = ${message} AND content_attributes::text NOT LIKE '%deleted%'`, cw `UPDATE conversations SET updated_at = ${now} WHERE id = (SELECT conversation_id FROM messages WHERE id = ${message})`));
}
/** A new contact writes through an inbox. One transaction makes the contact and its contact_inbox. */
export async function createContact(rails, inbox, one) {
    const now = rails.now();
    const { createdAt = now } = one;
    const [made] = await rails.commit(cw `WITH c AS (
      INSERT INTO contacts (name, last_name, email, phone_number, account_id, country_code, additional_attributes, created_at, updated_at)
      SELECT ${one.name}, ${one.lastName ?? ''}, ${one.email ?? null}, ${one.phone ?? null}, account_id, ${one.country ?? ''},
             ${JSON.stringify(one.extra ?? {})}, ${createdAt}, ${now} FROM inboxes WHERE id = ${inbox} AND account_id = ${one.account} RETURNING id
    ) INSERT INTO contact_inboxes (contact_id, inbox_id, source_id, created_at, updated_at, pubsub_token)
      SELECT id, ${inbox}, ${key(rails)}, ${now}, ${now}, 'secret' || ${key(rails)} FROM c RETURNING id::integer AS id`);
    return made?.id ?? null;
}
/** A known contact writes through another inbox. */
export async function visit(rails, contact, inbox) {
    const now = rails.now();
    await rails.commit(cw `INSERT INTO contact_inboxes (contact_id, inbox_id, source_id, created_at, updated_at, pubsub_token)
       SELECT c.id, i.id, ${key(rails)}, ${now}, ${now}, 'secret' || ${key(rails)} FROM contacts c JOIN inboxes i USING (account_id)
        WHERE c.id = ${contact} AND i.id = ${inbox}`);
}
/** A new conversation without messages. Null if the contact_inbox is gone. */
export async function createConversation(rails, one) {
    const now = rails.now();
    const { createdAt = now, hold } = one;
    const [made] = await rails.commit(together(cw `WITH c AS (
        INSERT INTO conversations (account_id, inbox_id, status, assignee_id, contact_id, contact_inbox_id, additional_attributes,
                                   created_at, updated_at, last_activity_at, waiting_since)
        SELECT i.account_id, i.id, ${one.status ?? 0}, ${one.assignee ?? null}, ci.contact_id, ci.id, ${JSON.stringify(one.extra ?? {})},
               ${createdAt}, ${now}, ${createdAt}, ${createdAt}
          FROM contact_inboxes ci JOIN inboxes i ON i.id = ci.inbox_id JOIN contacts p ON p.id = ci.contact_id
         WHERE ci.id = ${one.contactInbox} RETURNING id
      ) SELECT set_config('rails.conversation', (SELECT id::text FROM c), true)`, hold === undefined ? undefined : held(hold), "SELECT nullif(current_setting('rails.conversation', true), '')::integer AS id"));
    return made?.id ?? null;
}
//# sourceMappingURL=rails.js.map