import { purge } from './rails.js';
import { cw, together } from './script.js';
/** Dependents that one job destroys before the next job continues. */
const BATCH = 10;
const listed = (lists) => `SELECT json_build_object(${Object.entries(lists)
    .map(([name, query]) => `'${name}', ARRAY(${query})`)
    .join(', ')}) AS ids`;
function destroyLater(rails, ids, destroy) {
    const [first, rest] = [ids?.slice(0, BATCH) ?? [], ids?.slice(BATCH) ?? []];
    if (first.length === 0)
        return;
    rails.later(async (later) => {
        for (const id of first)
            await destroy(later, id);
        destroyLater(later, rest, destroy);
    });
}
const remove = (table) => async (rails, id) => {
    await rails.commit(`DELETE FROM ${table} WHERE id = ${id}`);
};
/** A message and its files go in one transaction, the blobs later. */
export async function destroyMessage(rails, message) {
    const blobs = await rails.commit(together(cw `WITH s AS (
        DELETE FROM active_storage_attachments WHERE record_type = 'Attachment'
           AND record_id IN (SELECT id FROM attachments WHERE message_id = ${message}) RETURNING blob_id
      ) SELECT blob_id FROM s`, cw `DELETE FROM attachments WHERE message_id = ${message}`, cw `UPDATE conversations SET updated_at = ${rails.now()} WHERE id = (SELECT conversation_id FROM messages WHERE id = ${message})`, cw `DELETE FROM messages WHERE id = ${message}`));
    purge(rails, blobs);
    await rails.commit(cw `DELETE FROM csat_survey_responses WHERE message_id = ${message}`);
}
export async function destroyConversation(rails, conversation) {
    const [found] = await rails.commit(together(listed({
        messages: cw `SELECT id FROM messages WHERE conversation_id = ${conversation} ORDER BY id`,
        responses: cw `SELECT id FROM csat_survey_responses WHERE conversation_id = ${conversation}`,
        events: cw `SELECT id FROM reporting_events WHERE conversation_id = ${conversation}`,
    }), cw `DELETE FROM taggings WHERE taggable_type = 'Conversation' AND taggable_id = ${conversation}`, cw `DELETE FROM conversations WHERE id = ${conversation}`));
    rails.committed('gone', conversation);
    destroyLater(rails, found?.ids['messages'], destroyMessage);
    destroyLater(rails, found?.ids['responses'], remove('csat_survey_responses'));
    destroyLater(rails, found?.ids['events'], remove('reporting_events'));
}
async function destroyContactInbox(rails, contactInbox) {
    const [found] = await rails.commit(together(listed({ conversations: cw `SELECT id FROM conversations WHERE contact_inbox_id = ${contactInbox}` }), cw `DELETE FROM contact_inboxes WHERE id = ${contactInbox}`));
    destroyLater(rails, found?.ids['conversations'], destroyConversation);
}
export async function destroyContact(rails, contact) {
    const [found] = await rails.commit(together(listed({
        conversations: cw `SELECT id FROM conversations WHERE contact_id = ${contact}`,
        contactInboxes: cw `SELECT id FROM contact_inboxes WHERE contact_id = ${contact}`,
        responses: cw `SELECT id FROM csat_survey_responses WHERE contact_id = ${contact}`,
        messages: cw `SELECT id FROM messages WHERE sender_type = 'Contact' AND sender_id = ${contact}`,
        notes: cw `SELECT id FROM notes WHERE contact_id = ${contact}`,
    }), cw `DELETE FROM taggings WHERE taggable_type = 'Contact' AND taggable_id = ${contact}`, cw `DELETE FROM contacts WHERE id = ${contact}`));
    destroyLater(rails, found?.ids['conversations'], destroyConversation);
    destroyLater(rails, found?.ids['contactInboxes'], destroyContactInbox);
    destroyLater(rails, found?.ids['responses'], remove('csat_survey_responses'));
    destroyLater(rails, found?.ids['messages'], destroyMessage);
    destroyLater(rails, found?.ids['notes'], remove('notes'));
}
/** A job destroys the conversations of the inbox, then the inbox with its channel, then the rest. */
export async function destroyInbox(rails, inbox) {
    const [large] = await rails.commit(listed({
        conversations: cw `SELECT id FROM conversations WHERE inbox_id = ${inbox} LIMIT 50`,
        contactInboxes: cw `SELECT id FROM contact_inboxes WHERE inbox_id = ${inbox} LIMIT 50`,
    }));
    for (const id of large?.ids['conversations'] ?? [])
        await destroyConversation(rails, id);
    for (const id of large?.ids['contactInboxes'] ?? [])
        await destroyContactInbox(rails, id);
    const [rest] = await rails.commit(together(listed({
        contactInboxes: cw `SELECT id FROM contact_inboxes WHERE inbox_id = ${inbox}`,
        conversations: cw `SELECT id FROM conversations WHERE inbox_id = ${inbox}`,
        messages: cw `SELECT id FROM messages WHERE inbox_id = ${inbox}`,
        members: cw `SELECT id FROM inbox_members WHERE inbox_id = ${inbox}`,
    }), cw `DELETE FROM channel_api WHERE id = (SELECT channel_id FROM inboxes WHERE id = ${inbox} AND channel_type = 'Channel::Api')`, cw `DELETE FROM inboxes WHERE id = ${inbox}`));
    destroyLater(rails, rest?.ids['conversations'], destroyConversation);
    destroyLater(rails, rest?.ids['contactInboxes'], destroyContactInbox);
    destroyLater(rails, rest?.ids['messages'], destroyMessage);
    destroyLater(rails, rest?.ids['members'], remove('inbox_members'));
}
export async function addInbox(rails, account, type, name) {
    const now = rails.now();
    const secret = `secret-${now}-${rails.random()}`;
    await rails.commit(cw `WITH c AS (
      INSERT INTO channel_api (account_id, identifier, hmac_token, created_at, updated_at) VALUES (${account}, ${`i${secret}`}, ${secret}, ${now}, ${now}) RETURNING id
    ) INSERT INTO inboxes (channel_id, account_id, name, channel_type, created_at, updated_at) SELECT id, ${account}, ${name}, ${type}, ${now}, ${now} FROM c`);
}
export async function renameInbox(rails, inbox, name) {
    await rails.commit(cw `UPDATE inboxes SET name = ${name}, updated_at = ${rails.now()} WHERE id = ${inbox}`);
}
/** One UPDATE takes the team from its conversations and leaves updated_at unchanged. */
export async function destroyTeam(rails, team) {
    const [found] = await rails.commit(together(listed({ members: cw `SELECT id FROM team_members WHERE team_id = ${team}` }), cw `UPDATE conversations SET team_id = NULL WHERE team_id = ${team}`, cw `DELETE FROM teams WHERE id = ${team}`));
    destroyLater(rails, found?.ids['members'], remove('team_members'));
}
/** One UPDATE takes the sender from the bot's messages and leaves updated_at unchanged. */
export async function destroyBot(rails, assistant, id) {
    const [type, table] = assistant ? ['Captain::Assistant', 'captain_assistants'] : ['AgentBot', 'agent_bots'];
    await rails.commit(together(cw `UPDATE messages SET sender_type = NULL, sender_id = NULL WHERE sender_type = ${type} AND sender_id = ${id}`, `DELETE FROM ${table} WHERE id = ${id}`));
}
/** The administrator of the installation deletes a user. Everything that the user wrote loses its author. */
export async function destroyUser(rails, user) {
    const [found] = await rails.commit(together(listed({
        places: cw `SELECT id FROM account_users WHERE user_id = ${user}`,
        teams: cw `SELECT id FROM team_members WHERE user_id = ${user}`,
        inboxes: cw `SELECT id FROM inbox_members WHERE user_id = ${user}`,
    }), cw `UPDATE conversations SET assignee_id = NULL WHERE assignee_id = ${user}`, cw `UPDATE csat_survey_responses SET assigned_agent_id = NULL WHERE assigned_agent_id = ${user}`, cw `UPDATE messages SET sender_id = NULL, sender_type = NULL WHERE sender_type = 'User' AND sender_id = ${user}`, cw `UPDATE notes SET user_id = NULL WHERE user_id = ${user}`, cw `DELETE FROM access_tokens WHERE owner_type = 'User' AND owner_id = ${user}`, cw `DELETE FROM users WHERE id = ${user}`));
    destroyLater(rails, found?.ids['places'], remove('account_users'));
    destroyLater(rails, found?.ids['teams'], remove('team_members'));
    destroyLater(rails, found?.ids['inboxes'], remove('inbox_members'));
}
/**
 * Merges contact `from` into contact `into` in one transaction. Rails updates every row alone, and destroys the merged
 * contact at the end. `into` takes over the members that it lacks. A contact that the import schemas refuse takes over
 * nothing. Otherwise a stored conversation would depend on a refused contact.
 */
export async function mergeContacts(rails, into, from) {
    const now = rails.now();
    const each = (rows, update) => `FOR r IN ${rows} LOOP ${update} WHERE id = r.id; END LOOP;`;
    await rails.commit(`DO $$ DECLARE r record; m contacts; BEGIN
    SELECT f.* INTO m FROM contacts f JOIN contacts i ON i.account_id = f.account_id AND i.id = ${into} AND i.id <> f.id WHERE f.id = ${from}
       AND length(concat(i.name, ' ', i.last_name)) <= 240 AND coalesce(length(i.email), 0) <= 255 AND coalesce(length(i.phone_number), 0) <= 40 FOR UPDATE;
    IF NOT FOUND THEN RETURN; END IF;
    ${each(`SELECT id FROM conversations WHERE contact_id = ${from} ORDER BY id`, cw `UPDATE conversations SET contact_id = ${into}, updated_at = ${now}`)}
    FOR r IN SELECT id, conversation_id FROM messages WHERE sender_type = 'Contact' AND sender_id = ${from} ORDER BY id LOOP
      ${cw `UPDATE messages SET sender_id = ${into}, updated_at = ${now}`} WHERE id = r.id;
    END LOOP;
    ${each(`SELECT id FROM contact_inboxes WHERE contact_id = ${from} ORDER BY id`, cw `UPDATE contact_inboxes SET contact_id = ${into}, updated_at = ${now}`)}
    ${each(`SELECT id FROM notes WHERE contact_id = ${from} ORDER BY id`, cw `UPDATE notes SET contact_id = ${into}, updated_at = ${now}`)}
    DELETE FROM contacts WHERE id = ${from};
    UPDATE contacts c SET name = coalesce(nullif(c.name, ''), left(m.name, 200)), email = coalesce(nullif(c.email, ''), left(m.email, 255)),
           phone_number = coalesce(nullif(c.phone_number, ''), left(m.phone_number, 40)),
           additional_attributes = coalesce(m.additional_attributes, '{}') || coalesce(c.additional_attributes, '{}'), updated_at = '${now}'
     WHERE c.id = ${into};
  END $$`);
}
/** Does the work of lost jobs: when a commit's outcome is unknown, Rails queues none. Returns the number of rows. */
export async function sweep(rails) {
    const gone = (table, key, owner) => `${table} t WHERE t.${key} IS NOT NULL AND NOT EXISTS (SELECT FROM ${owner} o WHERE o.id = t.${key})`;
    const swept = [
        gone('contact_inboxes', 'inbox_id', 'inboxes'),
        gone('contact_inboxes', 'contact_id', 'contacts'),
        gone('conversations', 'inbox_id', 'inboxes'),
        gone('conversations', 'contact_id', 'contacts'),
        gone('conversations', 'contact_inbox_id', 'contact_inboxes'),
        gone('messages', 'conversation_id', 'conversations'),
        gone('attachments', 'message_id', 'messages'),
        gone('active_storage_attachments', 'record_id', 'attachments'),
        gone('csat_survey_responses', 'conversation_id', 'conversations'),
        gone('csat_survey_responses', 'message_id', 'messages'),
        gone('reporting_events', 'conversation_id', 'conversations'),
        gone('notes', 'contact_id', 'contacts'),
        gone('account_users', 'user_id', 'users'),
        gone('team_members', 'team_id', 'teams'),
        `team_members t WHERE NOT EXISTS (SELECT FROM teams o JOIN account_users a ON a.account_id = o.account_id WHERE o.id = t.team_id AND a.user_id = t.user_id)`,
    ];
    let count = 0;
    for (const rows of swept)
        count += (await rails.commit(`DELETE FROM ${rows} RETURNING 1 AS one`)).length;
    const left = await rails.commit(`UPDATE conversations t SET assignee_id = NULL WHERE assignee_id IS NOT NULL AND NOT EXISTS (
       SELECT FROM account_users o WHERE o.account_id = t.account_id AND o.user_id = t.assignee_id) RETURNING 1 AS one`);
    return count + left.length;
}
//# sourceMappingURL=rails-destroy.js.map