import { readFile } from 'node:fs/promises';
import postgres from 'postgres';
import { cw, together } from './script.js';
/** The inbox types of each account. The gateway knows no Twitter, so its platform is unknown. */
const CHANNELS = 'WebWidget Email Api Whatsapp FacebookPage Instagram Telegram Line Sms TwilioSms Voice TwitterProfile'.split(' ');
/** From this number of messages on, the indexes are built after the rows. */
const MANY = 100_000;
/** Connects again soon after a restart of the server: the driver's own pause between attempts grows to 20 s. */
export const openChatwoot = (target) => postgres({ max: 12, onnotice: () => undefined, backoff: () => 0.2, connect_timeout: 5, ...target });
/** Chatwoot's tables, and the tables that only the simulator and the oracle know. */
export async function createChatwoot(sql) {
    const schema = await readFile('test/support/chatwoot/schema.sql', 'utf8');
    await sql.unsafe(schema).simple();
    await sql
        .unsafe(`CREATE SCHEMA simulated;
       CREATE TABLE simulated.past (account_id integer, type text, id bigint, PRIMARY KEY (account_id, type, id))`)
        .simple();
}
/**
 * Accounts 1 and 2 with their settings and conversations. Account 2 has one tenth of the conversations. The number of a
 * message, modulo the number of conversations, is the number of its conversation. Every twentieth message has a time
 * before that of its predecessor, and every seventh has the same time.
 */
export async function populate(sql, { conversations, messages, seed }) {
    const run = (script) => sql.unsafe(script).simple();
    await run(settings());
    if (conversations === 0)
        return;
    const random = (row, salt) => `(abs(hashint8(${row}::bigint * 1000 + ${seed % 1000})) % ${salt})`;
    const account = 'CASE WHEN g % 10 = 9 THEN 2 ELSE 1 END';
    await run(together(`INSERT INTO contacts (name, last_name, email, phone_number, account_id, country_code, additional_attributes, created_at, updated_at, last_activity_at)
       SELECT 'Person ' || g, CASE WHEN g % 9 = 0 THEN 'Last ' || g ELSE '' END, CASE WHEN g % 4 > 0 THEN 'p' || g || '@example.com' END,
              CASE WHEN g % 3 = 0 THEN '+4366' || (10000000 + g) END, ${account}, CASE g % 5 WHEN 0 THEN 'AT' WHEN 1 THEN 'us' WHEN 2 THEN 'Brazil' ELSE '' END,
              CASE WHEN g % 6 = 0 THEN jsonb_build_object('company_name', 'Company ' || g % 100) ELSE '{}' END, t, t, t
         FROM generate_series(0, ${conversations - 1}) g, LATERAL (SELECT now()::timestamp - interval '1 year' + g * interval '17 seconds' AS t) x`, `INSERT INTO contact_inboxes (contact_id, inbox_id, source_id, created_at, updated_at, pubsub_token)
       SELECT c.id, i.first + g % ${CHANNELS.length}, gen_random_uuid(), c.created_at, c.created_at, 'secret' || c.id
         FROM (SELECT c.*, row_number() OVER (ORDER BY id) - 1 AS g FROM contacts c) c
         JOIN (SELECT account_id, min(id) AS first FROM inboxes GROUP BY 1) i USING (account_id) ORDER BY c.id`, `INSERT INTO conversations (account_id, inbox_id, status, assignee_id, team_id, contact_id, contact_inbox_id, additional_attributes, created_at, updated_at, last_activity_at, first_reply_created_at, contact_last_seen_at)
       SELECT c.account_id, ci.inbox_id, (ARRAY[0, 1, 1, 1, 2, 3, 0])[1 + ${random('g', '7')}],
              CASE WHEN g % 3 > 0 THEN u.first + g % u.n END, CASE WHEN g % 4 = 0 THEN t.first END, c.id, ci.id,
              CASE WHEN g % 5 = 0 THEN jsonb_build_object('mail_subject', 'Question ' || g, 'conversation_language', 'de') ELSE '{}' END,
              c.created_at, c.created_at + interval '1 day', c.created_at + interval '2 days', CASE WHEN g % 3 > 0 THEN c.created_at + interval '1 minute' END,
              CASE WHEN g % 2 = 0 THEN c.created_at + interval '3 days' END
         FROM (SELECT ci.*, row_number() OVER (ORDER BY id) - 1 AS g FROM contact_inboxes ci) ci JOIN contacts c ON c.id = ci.contact_id
         JOIN (SELECT account_id, min(user_id) AS first, count(*) AS n FROM account_users WHERE user_id > 1 GROUP BY 1) u USING (account_id)
         JOIN (SELECT account_id, min(id) AS first FROM teams GROUP BY 1) t USING (account_id) ORDER BY ci.id`));
    await withoutIndexes(run, sql, messages >= MANY, () => run(rows(conversations, messages, random)));
    await run('ANALYZE messages');
    await run(followers());
    await run('ANALYZE');
}
function rows(conversations, messages, random) {
    const back = "CASE WHEN g % 20 = 19 THEN interval '-90 seconds' WHEN g % 7 = 6 THEN interval '-40 seconds' ELSE interval '0' END";
    return together('CREATE TABLE simulated.places AS SELECT c.id, c.account_id, c.inbox_id, c.contact_id, c.created_at, row_number() OVER (ORDER BY c.id) - 1 AS place, u.ids[1 + c.id % cardinality(u.ids)] AS agent FROM conversations c JOIN (SELECT account_id, array_agg(user_id) AS ids FROM account_users WHERE user_id > 1 GROUP BY 1) u USING (account_id)', 'CREATE INDEX ON simulated.places (place)', 'ANALYZE simulated.places', 'CREATE TABLE simulated.base AS SELECT coalesce(max(id), 0) AS id FROM messages', 
    // The rows get their ids in this order. The join keeps it, because the planner reads places by their numbers.
    `INSERT INTO messages (id, content, account_id, inbox_id, conversation_id, message_type, created_at, updated_at, private, status, content_type, content_attributes, sender_type, sender_id)
     SELECT b.id + g + 1, 'message ' || g || ' ' || repeat('word ', ${random('g', '40')}), p.account_id, p.inbox_id, p.id, k.type, t, t, k.private, g % 4,
            CASE WHEN g % 31 = 0 THEN 8 ELSE 0 END,
            (CASE WHEN g % 53 = 0 THEN '"{\\"deleted\\":true}"'
                  WHEN g % 11 = 0 AND g >= ${conversations} THEN format('"{\\"in_reply_to\\":%s}"', b.id + g + 1 - ${conversations})
                  WHEN g % 41 = 0 THEN format('{"external_created_at": %s}', extract(epoch FROM t)::bigint - 3600)
                  ELSE '"{}"' END)::json,
            k.sender, CASE k.sender WHEN 'Contact' THEN p.contact_id WHEN 'User' THEN p.agent END
       FROM simulated.base b CROSS JOIN generate_series(0, ${messages - 1}) g JOIN simulated.places p ON p.place = g % ${conversations}
       CROSS JOIN LATERAL (SELECT p.created_at + (g / ${conversations}) * interval '40 seconds' + ${back} AS t) x
       CROSS JOIN LATERAL (SELECT v.* FROM (VALUES (0, false, 'Contact'), (1, false, 'User'), (1, true, 'User'), (2, false, NULL), (3, false, NULL)) AS v (type, private, sender)
                            OFFSET CASE WHEN g < ${conversations} OR g % 2 = 0 THEN 0 WHEN g % 13 = 1 THEN 2 WHEN g % 17 = 1 THEN 3 WHEN g % 19 = 1 THEN 4 ELSE 1 END LIMIT 1) k`, "SELECT setval('messages_id_seq', greatest((SELECT max(id) FROM messages), 1))", 'DROP TABLE simulated.places, simulated.base');
}
const followers = () => together(`INSERT INTO active_storage_blobs (key, filename, content_type, byte_size, checksum, created_at, service_name)
     SELECT 'k' || id, 'file ' || id || '.png', 'image/png', 1000 + id % 1000, 'c', created_at, 'local' FROM messages WHERE id % 50 = 7 AND content_attributes::text NOT LIKE '%deleted%'`, `INSERT INTO attachments (file_type, message_id, account_id, created_at, updated_at)
     SELECT 0, m.id, m.account_id, m.created_at, m.created_at FROM messages m JOIN active_storage_blobs b ON b.key = 'k' || m.id WHERE m.id % 50 = 7`, `INSERT INTO active_storage_attachments (name, record_type, record_id, blob_id, created_at)
     SELECT 'file', 'Attachment', a.id, b.id, a.created_at FROM attachments a JOIN active_storage_blobs b ON b.key = 'k' || a.message_id`, `INSERT INTO reporting_events (name, value, account_id, inbox_id, user_id, conversation_id, created_at, updated_at, event_start_time, event_end_time)
     SELECT 'conversation_resolved', 60, account_id, inbox_id, assignee_id, id, updated_at, updated_at, created_at, CASE WHEN id % 5 > 0 THEN updated_at END FROM conversations WHERE status = 1 AND id % 7 > 0`, `INSERT INTO csat_survey_responses (account_id, conversation_id, message_id, rating, feedback_message, contact_id, created_at, updated_at)
     SELECT c.account_id, c.id, m.id, 1 + c.id % 5, CASE WHEN c.id % 2 = 0 THEN 'fine' END, c.contact_id, c.updated_at, c.updated_at
       FROM conversations c JOIN (SELECT conversation_id, max(id) AS id FROM messages GROUP BY 1) m ON m.conversation_id = c.id WHERE c.status = 1 AND c.id % 3 = 0`, `INSERT INTO notes (content, account_id, contact_id, user_id, created_at, updated_at)
     SELECT 'a note', account_id, id, (SELECT min(user_id) FROM account_users u WHERE u.account_id = c.account_id), created_at, created_at FROM contacts c WHERE id % 20 = 0`);
/** Two accounts with agents, teams, inboxes, bots and saved responses. One user works in both accounts. */
const settings = () => {
    const names = CHANNELS.map((name, i) => cw `(${i}, ${name})`).join(', ');
    return together("INSERT INTO accounts (name, locale, created_at, updated_at) SELECT 'Account ' || g, CASE g WHEN 1 THEN 0 ELSE 16 END, now(), now() FROM generate_series(1, 2) g", `INSERT INTO users (name, display_name, email, uid, encrypted_password, tokens, created_at, updated_at)
     SELECT 'Agent ' || g, CASE WHEN g % 3 = 0 THEN 'Shown ' || g END, 'a' || g || '@agents.example', 'a' || g || '@agents.example', 'secret', '{"secret": 1}', now(), now() FROM generate_series(1, 21) g`, `INSERT INTO account_users (account_id, user_id, role, created_at, updated_at)
     SELECT CASE WHEN id <= 11 THEN 1 ELSE 2 END, id, CASE WHEN id % 5 = 0 THEN 1 ELSE 0 END, now(), now() FROM users UNION ALL SELECT 2, 1, 1, now(), now()`, "INSERT INTO teams (name, account_id, created_at, updated_at) SELECT 'team ' || g, 1 + g % 2, now(), now() FROM generate_series(1, 8) g", `INSERT INTO team_members (team_id, user_id, created_at, updated_at)
     SELECT t.id, a.user_id, now(), now() FROM teams t JOIN account_users a ON a.account_id = t.account_id AND (a.user_id + t.id) % 3 = 0`, `INSERT INTO channel_api (account_id, identifier, hmac_token, created_at, updated_at) SELECT a, 'i' || a || g, 'secret' || a || g, now(), now() FROM generate_series(1, 2) a, generate_series(1, ${CHANNELS.length}) g`, `INSERT INTO inboxes (channel_id, account_id, name, channel_type, created_at, updated_at)
     SELECT 1, a, 'Inbox ' || n.name, 'Channel::' || n.name, now(), now() FROM generate_series(1, 2) a, (VALUES ${names}) AS n (place, name) ORDER BY a, n.place`, `INSERT INTO channel_email (account_id, email, forward_to_email, imap_password, smtp_password, created_at, updated_at) VALUES (1, 'in@example.com', 'f@example.com', 'secret', 'secret', now(), now())`, `INSERT INTO channel_facebook_pages (page_id, user_access_token, page_access_token, account_id, created_at, updated_at) VALUES ('1', 'secret', 'secret', 1, now(), now())`, "INSERT INTO access_tokens (owner_type, owner_id, token, created_at, updated_at) SELECT 'User', id, 'secret' || id, now(), now() FROM users", "INSERT INTO agent_bots (name, account_id, created_at, updated_at) VALUES ('Own bot', 1, now(), now()), ('Other bot', 2, now(), now()), ('Everywhere', NULL, now(), now()), ('Silent', NULL, now(), now())", "INSERT INTO captain_assistants (name, account_id, created_at, updated_at) VALUES ('Captain', 1, now(), now()), ('Second captain', 2, now(), now())", "INSERT INTO canned_responses (account_id, short_code, content, created_at, updated_at) SELECT 1 + g % 2, 'code' || g, 'Response ' || g, now(), now() FROM generate_series(1, 20) g");
};
async function withoutIndexes(run, sql, many, fill) {
    const found = many
        ? await sql `SELECT indexname AS name, indexdef AS made FROM pg_indexes WHERE tablename = 'messages' AND indexname LIKE '%index_messages%' OR indexname LIKE 'idx_messages%'`
        : [];
    for (const { name } of found)
        await run(`DROP INDEX ${name}`);
    await fill();
    // PostgreSQL builds several indexes of one table at the same time.
    await Promise.all(found.map(({ made }) => run(`SET LOCAL maintenance_work_mem = '128MB';\n${made}`)));
}
//# sourceMappingURL=populate.js.map