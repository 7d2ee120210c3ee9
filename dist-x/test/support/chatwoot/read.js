const PAGE = 5_000;
const utc = (column) => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const time = (column) => `${utc(column)} AS ${column}`;
export async function readChat(sql, account) {
    const rows = async (query) => {
        const found = await sql.unsafe(`SELECT to_jsonb(q) AS row FROM (${query}) q`, [account]);
        return found.map(({ row }) => row);
    };
    const byId = async (query) => new Map((await rows(query)).map((row) => [row.id, row]));
    const past = await sql `SELECT to_regclass('simulated.past') IS NOT NULL AS there`;
    const named = async (query) => new Set((await rows(query)).map(({ name }) => name));
    const messages = new Map();
    const pages = sql.unsafe(`SELECT id, conversation_id, message_type, private, status, content_type, content, content_attributes::text AS attributes,
            sender_type, sender_id::float8 AS sender_id, ${time('created_at')}, EXISTS (SELECT FROM attachments a WHERE a.message_id = m.id) AS attached
       FROM messages m WHERE account_id = $1 ORDER BY id`, [account]);
    for await (const page of pages.cursor(PAGE)) {
        for (const row of page)
            messages.set(row.id, { ...row, attributes: decoded(row.attributes) });
    }
    return {
        owner: (await rows('SELECT name, locale FROM accounts WHERE id = $1'))[0],
        inboxes: await byId('SELECT id, name, channel_type FROM inboxes WHERE account_id = $1'),
        teams: await byId('SELECT id, name FROM teams WHERE account_id = $1'),
        members: await rows('SELECT m.team_id, m.user_id FROM team_members m JOIN teams t ON t.id = m.team_id AND t.account_id = $1'),
        users: await byId('SELECT id, name, display_name FROM users WHERE $1::integer > 0'),
        agents: await byId('SELECT user_id AS id, role FROM account_users WHERE account_id = $1'),
        bots: await rows(`SELECT 'AgentBot' AS type, id, name FROM agent_bots UNION ALL SELECT 'Captain::Assistant', id, name FROM captain_assistants WHERE $1::integer > 0`),
        authors: await named(`SELECT DISTINCT sender_type || ' ' || sender_id AS name FROM messages WHERE account_id = $1 AND sender_id IS NOT NULL
      UNION SELECT 'User ' || user_id FROM notes WHERE account_id = $1 AND user_id IS NOT NULL
      UNION SELECT 'User ' || assignee_id FROM conversations WHERE account_id = $1 AND assignee_id IS NOT NULL`),
        past: past[0]?.there === true
            ? await named("SELECT type || ' ' || id AS name FROM simulated.past WHERE account_id = $1")
            : new Set(),
        contacts: await byId(`SELECT id, name, last_name, email, phone_number, country_code, additional_attributes, blocked, ${time('created_at')} FROM contacts WHERE account_id = $1`),
        visitors: await byId(`SELECT v.id, v.contact_id, ${utc('v.created_at')} AS created_at, ${utc('s.seen')} AS last_seen_at
         FROM contact_inboxes v JOIN inboxes i ON i.id = v.inbox_id AND i.account_id = $1
         LEFT JOIN (SELECT contact_inbox_id, max(contact_last_seen_at) AS seen FROM conversations GROUP BY 1) s ON s.contact_inbox_id = v.id`),
        conversations: await byId(`SELECT id, inbox_id, contact_id, contact_inbox_id, team_id, assignee_id, status, additional_attributes, ${['created_at', 'updated_at', 'last_activity_at', 'first_reply_created_at'].map(time).join(', ')},
              (SELECT ${utc('coalesce(e.event_end_time, e.created_at)')} FROM reporting_events e
                WHERE e.conversation_id = c.id AND e.name = 'conversation_resolved' ORDER BY e.created_at DESC, e.id DESC LIMIT 1) AS resolved_at,
              (SELECT json_build_object('value', r.rating, 'feedback', r.feedback_message) FROM csat_survey_responses r
                WHERE r.conversation_id = c.id ORDER BY r.created_at DESC, r.id DESC LIMIT 1) AS rating
         FROM conversations c WHERE account_id = $1`),
        messages,
        files: await rows(`SELECT a.id, a.message_id, b.filename, b.content_type, b.byte_size, ${utc('a.created_at')} AS created_at FROM attachments a
         JOIN active_storage_attachments s ON s.record_type = 'Attachment' AND s.record_id = a.id AND s.name = 'file'
         JOIN active_storage_blobs b ON b.id = s.blob_id WHERE a.account_id = $1`),
        notes: await rows(`SELECT id, contact_id, user_id, content, ${time('created_at')} FROM notes WHERE account_id = $1`),
        responses: await rows('SELECT id, short_code, content FROM canned_responses WHERE account_id = $1'),
    };
}
/** Rails encodes the attributes twice, other programs once. */
function decoded(text) {
    let value = text ?? '{}';
    for (let i = 0; i < 2 && typeof value === 'string'; i++)
        value = JSON.parse(value === '' ? '{}' : value);
    return typeof value === 'object' && value !== null ? value : {}; // an object of JSON has text keys
}
//# sourceMappingURL=read.js.map