import { createMessage, report } from './rails.js';
import { attributes, cw, together } from './script.js';
/** What agents, administrators and the settings pages of Chatwoot do. */
/** A job of Rails writes the message about a change. */
const activity = (rails, conversation, content) => rails.later(async (later) => {
    await createMessage(later, { conversation, type: 2, content });
});
const change = (conversation, set, now) => `UPDATE conversations SET ${set}, ${cw `updated_at = ${now} WHERE id = ${conversation}`}`;
export async function assign(rails, conversation, user) {
    await rails.commit(change(conversation, cw `assignee_id = ${user}, assignee_agent_bot_id = NULL`, rails.now()));
    activity(rails, conversation, user === null ? 'Unassigned by an agent' : `Assigned to ${user}`);
}
/** Assigns a team. Rails can choose an assignee of the team in the same transaction. */
export async function toTeam(rails, conversation, team, user) {
    const set = user === null ? cw `team_id = ${team}` : cw `team_id = ${team}, assignee_id = ${user}`;
    await rails.commit(change(conversation, set, rails.now()));
}
/**
 * Rails sets first the status, then waiting_since (updated_at stays unchanged). Jobs write the report and the survey.
 */
export async function resolve(rails, conversation, survey, late) {
    const now = rails.now();
    await rails.commit(change(conversation, 'status = 1, snoozed_until = NULL', now));
    await rails.commit(cw `UPDATE conversations SET waiting_since = NULL WHERE id = ${conversation}`);
    // An old version of Chatwoot wrote no end of the event.
    const end = late ? null : now;
    rails.later(async (later) => {
        await later.commit(report('conversation_resolved', conversation, later.now(), end));
    });
    if (!survey)
        return activity(rails, conversation, 'Conversation was marked resolved');
    rails.later(async (later) => {
        await createMessage(later, { conversation, type: 3, contentType: 9, content: 'Please rate this conversation' });
    });
}
export async function reopen(rails, conversation) {
    await rails.commit(change(conversation, 'status = 0, snoozed_until = NULL', rails.now()));
    rails.later(async (later) => {
        await later.commit(report('conversation_opened', conversation, later.now(), later.now()));
    });
}
export async function snooze(rails, conversation) {
    await rails.commit(change(conversation, cw `status = 3, snoozed_until = now() + interval '1 day'`, rails.now()));
}
export async function pend(rails, conversation) {
    await rails.commit(change(conversation, 'status = 2, snoozed_until = NULL', rails.now()));
}
export async function describe(rails, conversation, extra) {
    const set = cw `additional_attributes = coalesce(additional_attributes, '{}') || ${JSON.stringify(extra)}`;
    await rails.commit(change(conversation, set, rails.now()));
}
export async function prioritize(rails, conversation, priority) {
    await rails.commit(change(conversation, cw `priority = ${priority}`, rails.now()));
}
/** The contact answers the survey. The message keeps the answer. A job writes or rewrites the response. */
export async function rate(rails, conversation, rating, feedback) {
    const answer = { submitted_values: { csat_survey_response: { rating, feedback_message: feedback } } };
    const now = rails.now();
    const [survey] = await rails.commit(together(cw `UPDATE conversations SET updated_at = ${now} WHERE id = ${conversation}`, cw `UPDATE messages SET content_attributes = ${attributes(answer)}, updated_at = ${now}
          WHERE id = (SELECT id FROM messages WHERE conversation_id = ${conversation} AND content_type = 9 ORDER BY created_at DESC, id DESC LIMIT 1) RETURNING id`));
    if (survey === undefined)
        return;
    rails.later(async (later) => {
        const at = later.now();
        await later.commit(cw `INSERT INTO csat_survey_responses (account_id, conversation_id, message_id, rating, feedback_message, contact_id, assigned_agent_id, created_at, updated_at)
         SELECT account_id, id, ${survey.id}, ${rating}, ${feedback}, contact_id, assignee_id, ${at}, ${at} FROM conversations
          WHERE id = ${conversation} AND contact_id IS NOT NULL
         ON CONFLICT (message_id) DO UPDATE SET rating = excluded.rating, feedback_message = excluded.feedback_message, updated_at = excluded.updated_at`);
    });
}
export async function addNote(rails, contact, user, content) {
    const now = rails.now();
    await rails.commit(cw `INSERT INTO notes (content, account_id, contact_id, user_id, created_at, updated_at)
       SELECT ${content}, account_id, id, ${user}, ${now}, ${now} FROM contacts WHERE id = ${contact}`);
}
export async function editNote(rails, contact, content) {
    await rails.commit(cw `UPDATE notes SET content = ${content}, updated_at = ${rails.now()} WHERE id = (SELECT max(id) FROM notes WHERE contact_id = ${contact})`);
}
export async function removeNote(rails, contact) {
    await rails.commit(cw `DELETE FROM notes WHERE id = (SELECT min(id) FROM notes WHERE contact_id = ${contact})`);
}
export async function addResponse(rails, account, code, content) {
    const now = rails.now();
    await rails.commit(cw `INSERT INTO canned_responses (account_id, short_code, content, created_at, updated_at) VALUES (${account}, ${code}, ${content}, ${now}, ${now})`);
}
const someResponse = (account, random) => cw `(SELECT id FROM canned_responses WHERE account_id = ${account} ORDER BY md5(id || ${String(random)}) LIMIT 1)`;
export async function editResponse(rails, account, content) {
    const id = someResponse(account, rails.random());
    await rails.commit(`${cw `UPDATE canned_responses SET content = ${content}, updated_at = ${rails.now()} WHERE id = `}${id}`);
}
export async function removeResponse(rails, account) {
    await rails.commit(`DELETE FROM canned_responses WHERE id = ${someResponse(account, rails.random())}`);
}
/** A label is a tag of a conversation. Rails also writes the conversation's list of labels. */
export async function label(rails, account, conversation, title) {
    const now = rails.now();
    await rails.commit(together(cw `INSERT INTO labels (title, account_id, created_at, updated_at) VALUES (${title}, ${account}, ${now}, ${now}) ON CONFLICT DO NOTHING`, cw `INSERT INTO tags (name) VALUES (${title}) ON CONFLICT DO NOTHING`, cw `UPDATE conversations SET cached_label_list = ${title}, custom_attributes = ${JSON.stringify({ plan: title })}, updated_at = ${now} WHERE id = ${conversation}`, cw `INSERT INTO taggings (tag_id, taggable_type, taggable_id, context, created_at)
         SELECT t.id, 'Conversation', ${conversation}, 'labels', ${now} FROM tags t WHERE t.name = ${title} AND NOT EXISTS (
           SELECT FROM taggings o WHERE o.tag_id = t.id AND o.taggable_type = 'Conversation' AND o.taggable_id = ${conversation})`, cw `INSERT INTO custom_attribute_definitions (attribute_key, attribute_display_name, account_id, created_at, updated_at)
         VALUES ('plan', 'Plan', ${account}, ${now}, ${now}) ON CONFLICT DO NOTHING`));
}
export async function changeContact(rails, contact, fields) {
    const set = Object.entries(fields).map(([name, value]) => `${name} = ${cw `${value}`}`);
    await rails.commit(`UPDATE contacts SET ${[...set, cw `updated_at = ${rails.now()}`].join(', ')} ${cw `WHERE id = ${contact}`}`);
}
export async function changeAccount(rails, account, name, locale) {
    await rails.commit(cw `UPDATE accounts SET name = ${name}, locale = ${locale}, updated_at = ${rails.now()} WHERE id = ${account}`);
}
export async function repair(rails, account) {
    await rails.commit(cw `UPDATE contacts SET name = left(name, 200), email = left(email, 200), phone_number = left(phone_number, 20), updated_at = ${rails.now()}
        WHERE id = (SELECT max(id) FROM contacts WHERE account_id = ${account} AND (length(name) > 240 OR length(email) > 320 OR length(phone_number) > 40))`);
}
/** An administrator invites an agent: the user, the membership in the account and the inboxes. */
export async function addAgent(rails, account, name, role) {
    const now = rails.now();
    const uid = `${name}${rails.random()}@agents.example`;
    await rails.commit(cw `WITH u AS (
      INSERT INTO users (name, display_name, email, uid, encrypted_password, tokens, created_at, updated_at, pubsub_token)
      VALUES (${name}, ${role === 1 ? `The ${name}` : null}, ${uid}, ${uid}, 'secret-hash', '{"secret": 1}', ${now}, ${now}, ${`secret-${uid}`}) RETURNING id
    ), m AS (
      INSERT INTO inbox_members (user_id, inbox_id, created_at, updated_at) SELECT u.id, i.id, ${now}, ${now} FROM u, inboxes i WHERE i.account_id = ${account}
    ), t AS (
      INSERT INTO access_tokens (owner_type, owner_id, token, created_at, updated_at) SELECT 'User', id, 'secret-' || ${uid}, ${now}, ${now} FROM u
    ) INSERT INTO account_users (account_id, user_id, role, created_at, updated_at) SELECT ${account}, id, ${role}, ${now}, ${now} FROM u`);
}
export async function renameAgent(rails, user, name) {
    await rails.commit(cw `UPDATE users SET display_name = ${name}, updated_at = ${rails.now()} WHERE id = ${user}`);
}
export async function setRole(rails, account, user, role) {
    await rails.commit(cw `UPDATE account_users SET role = ${role}, updated_at = ${rails.now()} WHERE account_id = ${account} AND user_id = ${user}`);
}
/** An agent's status changes often. Rails writes the time into the row of the membership. */
export async function online(rails, account, user) {
    await rails.commit(cw `UPDATE account_users SET active_at = ${rails.now()} WHERE account_id = ${account} AND user_id = ${user}`);
}
/** An agent leaves. A job removes the agent from teams, inboxes and conversations, whose updated_at stays unchanged. */
export async function removeAgent(rails, account, user) {
    await rails.commit(cw `DELETE FROM account_users WHERE account_id = ${account} AND user_id = ${user}`);
    rails.later(async (later) => {
        await later.commit(together(cw `DELETE FROM team_members WHERE user_id = ${user} AND team_id IN (SELECT id FROM teams WHERE account_id = ${account})`, cw `DELETE FROM inbox_members WHERE user_id = ${user} AND inbox_id IN (SELECT id FROM inboxes WHERE account_id = ${account})`, cw `UPDATE conversations SET assignee_id = NULL WHERE assignee_id = ${user} AND account_id = ${account}`));
    });
}
export async function addBot(rails, account, assistant, name) {
    const now = rails.now();
    await rails.commit(assistant
        ? cw `INSERT INTO captain_assistants (name, account_id, created_at, updated_at) VALUES (${name}, ${account}, ${now}, ${now})`
        : cw `INSERT INTO agent_bots (name, account_id, outgoing_url, created_at, updated_at) VALUES (${name}, ${account}, 'https://bot.example', ${now}, ${now})`);
}
export async function renameBot(rails, assistant, id, name) {
    const table = assistant ? 'captain_assistants' : 'agent_bots';
    await rails.commit(`UPDATE ${table} SET ${cw `name = ${name}, updated_at = ${rails.now()} WHERE id = ${id}`}`);
}
export async function addTeam(rails, account, name) {
    const now = rails.now();
    await rails.commit(cw `INSERT INTO teams (name, account_id, created_at, updated_at) VALUES (${name}, ${account}, ${now}, ${now})`);
}
export async function renameTeam(rails, team, name) {
    await rails.commit(cw `UPDATE teams SET name = ${name}, updated_at = ${rails.now()} WHERE id = ${team}`);
}
export async function joinTeam(rails, team, user) {
    const now = rails.now();
    await rails.commit(cw `INSERT INTO team_members (team_id, user_id, created_at, updated_at)
       SELECT t.id, au.user_id, ${now}, ${now} FROM teams t JOIN account_users au ON au.account_id = t.account_id
        WHERE t.id = ${team} AND au.user_id = ${user} ON CONFLICT DO NOTHING`);
}
export async function leaveTeam(rails, team, user) {
    await rails.commit(cw `DELETE FROM team_members WHERE team_id = ${team} AND user_id = ${user}`);
}
//# sourceMappingURL=rails-desk.js.map