import type postgres from 'postgres';

/** With microseconds and Z. */
export type Times = string;

interface Extra {
  readonly additional_attributes: Readonly<Record<string, unknown>> | null;
}

interface ChatContact extends Extra {
  readonly id: number;
  readonly name: string | null;
  readonly last_name: string | null;
  readonly email: string | null;
  readonly phone_number: string | null;
  readonly country_code: string | null;
  readonly blocked: boolean;
  readonly created_at: Times;
}

interface ChatVisitor {
  readonly id: number;
  readonly contact_id: number | null;
  readonly created_at: Times;
  readonly last_seen_at: Times | null;
}

interface ChatConversation extends Extra {
  readonly id: number;
  readonly inbox_id: number;
  readonly contact_id: number | null;
  readonly contact_inbox_id: number | null;
  readonly team_id: number | null;
  readonly assignee_id: number | null;
  readonly status: number;
  readonly created_at: Times;
  readonly updated_at: Times;
  readonly last_activity_at: Times;
  readonly first_reply_created_at: Times | null;
  readonly resolved_at: Times | null;
  readonly rating: { readonly value: number; readonly feedback: string | null } | null;
}

export interface ChatMessage {
  readonly id: number;
  readonly conversation_id: number;
  readonly message_type: number;
  readonly private: boolean;
  readonly status: number | null;
  readonly content_type: number;
  readonly content: string | null;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly sender_type: string | null;
  readonly sender_id: number | null;
  readonly created_at: Times;
  readonly attached: boolean;
}

/** Chatwoot's rows of one account. Rows that have their account only through a missing owner are left out. */
export interface Chat {
  readonly owner: { readonly name: string; readonly locale: number | null } | undefined;
  readonly inboxes: ReadonlyMap<
    number,
    { readonly id: number; readonly name: string; readonly channel_type: string | null }
  >;
  readonly teams: ReadonlyMap<number, { readonly id: number; readonly name: string }>;
  readonly members: readonly { readonly team_id: number; readonly user_id: number }[];
  readonly users: ReadonlyMap<
    number,
    { readonly id: number; readonly name: string; readonly display_name: string | null }
  >;
  readonly agents: ReadonlyMap<number, { readonly id: number; readonly role: number | null }>;
  readonly bots: readonly { readonly type: string; readonly id: number; readonly name: string | null }[];
  /** Senders of messages, writers of notes and assignees, for example `User 7`. */
  readonly authors: ReadonlySet<string>;
  /** Former members of the account, for example `operator 7`. */
  readonly past: ReadonlySet<string>;
  readonly contacts: ReadonlyMap<number, ChatContact>;
  readonly visitors: ReadonlyMap<number, ChatVisitor>;
  readonly conversations: ReadonlyMap<number, ChatConversation>;
  readonly messages: ReadonlyMap<number, ChatMessage>;
  readonly files: readonly {
    readonly id: number;
    readonly message_id: number;
    readonly filename: string;
    readonly content_type: string | null;
    readonly byte_size: number;
    readonly created_at: Times;
  }[];
  readonly notes: readonly {
    readonly id: number;
    readonly contact_id: number;
    readonly user_id: number | null;
    readonly content: string;
    readonly created_at: Times;
  }[];
  readonly responses: readonly {
    readonly id: number;
    readonly short_code: string | null;
    readonly content: string | null;
  }[];
}

const PAGE = 5_000;

const utc = (column: string): string => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const time = (column: string): string => `${utc(column)} AS ${column}`;

export async function readChat(sql: postgres.Sql, account: number): Promise<Chat> {
  const rows = async <T>(query: string): Promise<T[]> => {
    const found = await sql.unsafe<{ row: T }[]>(`SELECT to_jsonb(q) AS row FROM (${query}) q`, [account]);
    return found.map(({ row }) => row);
  };
  const byId = async <T extends { readonly id: number }>(query: string): Promise<Map<number, T>> =>
    new Map((await rows<T>(query)).map((row) => [row.id, row]));
  const past = await sql<{ there: boolean }[]>`SELECT to_regclass('simulated.past') IS NOT NULL AS there`;
  const named = async (query: string): Promise<Set<string>> =>
    new Set((await rows<{ name: string }>(query)).map(({ name }) => name));
  const messages = new Map<number, ChatMessage>();
  const pages = sql.unsafe<(Omit<ChatMessage, 'attributes'> & { readonly attributes: string | null })[]>(
    `SELECT id, conversation_id, message_type, private, status, content_type, content, content_attributes::text AS attributes,
            sender_type, sender_id::float8 AS sender_id, ${time('created_at')}, EXISTS (SELECT FROM attachments a WHERE a.message_id = m.id) AS attached
       FROM messages m WHERE account_id = $1 ORDER BY id`,
    [account],
  );
  for await (const page of pages.cursor(PAGE)) {
    for (const row of page) messages.set(row.id, { ...row, attributes: decoded(row.attributes) });
  }
  return {
    owner: (await rows<NonNullable<Chat['owner']>>('SELECT name, locale FROM accounts WHERE id = $1'))[0],
    inboxes: await byId('SELECT id, name, channel_type FROM inboxes WHERE account_id = $1'),
    teams: await byId('SELECT id, name FROM teams WHERE account_id = $1'),
    members: await rows(
      'SELECT m.team_id, m.user_id FROM team_members m JOIN teams t ON t.id = m.team_id AND t.account_id = $1',
    ),
    users: await byId('SELECT id, name, display_name FROM users WHERE $1::integer > 0'),
    agents: await byId('SELECT user_id AS id, role FROM account_users WHERE account_id = $1'),
    bots: await rows(
      `SELECT 'AgentBot' AS type, id, name FROM agent_bots UNION ALL SELECT 'Captain::Assistant', id, name FROM captain_assistants WHERE $1::integer > 0`,
    ),
    authors:
      await named(`SELECT DISTINCT sender_type || ' ' || sender_id AS name FROM messages WHERE account_id = $1 AND sender_id IS NOT NULL
      UNION SELECT 'User ' || user_id FROM notes WHERE account_id = $1 AND user_id IS NOT NULL
      UNION SELECT 'User ' || assignee_id FROM conversations WHERE account_id = $1 AND assignee_id IS NOT NULL`),
    past:
      past[0]?.there === true
        ? await named("SELECT type || ' ' || id AS name FROM simulated.past WHERE account_id = $1")
        : new Set(),
    contacts: await byId(
      `SELECT id, name, last_name, email, phone_number, country_code, additional_attributes, blocked, ${time('created_at')} FROM contacts WHERE account_id = $1`,
    ),
    visitors: await byId(
      `SELECT v.id, v.contact_id, ${utc('v.created_at')} AS created_at, ${utc('s.seen')} AS last_seen_at
         FROM contact_inboxes v JOIN inboxes i ON i.id = v.inbox_id AND i.account_id = $1
         LEFT JOIN (SELECT contact_inbox_id, max(contact_last_seen_at) AS seen FROM conversations GROUP BY 1) s ON s.contact_inbox_id = v.id`,
    ),
    conversations: await byId(
      `SELECT id, inbox_id, contact_id, contact_inbox_id, team_id, assignee_id, status, additional_attributes, ${['created_at', 'updated_at', 'last_activity_at', 'first_reply_created_at'].map(time).join(', ')},
              (SELECT ${utc('coalesce(e.event_end_time, e.created_at)')} FROM reporting_events e
                WHERE e.conversation_id = c.id AND e.name = 'conversation_resolved' ORDER BY e.created_at DESC, e.id DESC LIMIT 1) AS resolved_at,
              (SELECT json_build_object('value', r.rating, 'feedback', r.feedback_message) FROM csat_survey_responses r
                WHERE r.conversation_id = c.id ORDER BY r.created_at DESC, r.id DESC LIMIT 1) AS rating
         FROM conversations c WHERE account_id = $1`,
    ),
    messages,
    files: await rows(
      `SELECT a.id, a.message_id, b.filename, b.content_type, b.byte_size, ${utc('a.created_at')} AS created_at FROM attachments a
         JOIN active_storage_attachments s ON s.record_type = 'Attachment' AND s.record_id = a.id AND s.name = 'file'
         JOIN active_storage_blobs b ON b.id = s.blob_id WHERE a.account_id = $1`,
    ),
    notes: await rows(
      `SELECT id, contact_id, user_id, content, ${time('created_at')} FROM notes WHERE account_id = $1`,
    ),
    responses: await rows('SELECT id, short_code, content FROM canned_responses WHERE account_id = $1'),
  };
}

/** Rails encodes the attributes twice, other programs once. */
function decoded(text: string | null): Readonly<Record<string, unknown>> {
  let value: unknown = text ?? '{}';
  for (let i = 0; i < 2 && typeof value === 'string'; i++) value = JSON.parse(value === '' ? '{}' : value);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}; // an object of JSON has text keys
}
