import { type Authority, type Demand, meets } from '../core/authority.ts';
import { bytesOf } from '../core/fence.ts';
import { native, parseId } from '../core/ids.ts';
import type { Reads } from '../core/reads.ts';
import { both, DIRECTORY, INT, MSG, needs, PII } from '../core/scopes.ts';
import { SAID_NEEDS } from '../core/search.ts';
import { sql } from '../core/sql.ts';
import { clip, type Projection } from '../core/view.ts';
import { OperatorView } from './catalogue.ts';
import { ContactView } from './contact.ts';
import { ConversationView } from './conversation.ts';
import { byConversation } from './conversation-filters.ts';
import { FileView, publicFilesOnly } from './file.ts';
import { MessageView, publicOnly } from './message.ts';
import { NoteView } from './note.ts';
import { RecordText, TEXT_BYTES } from './record-text.ts';
import { VisitorView } from './visitor.ts';

/** Numbers of rows that a text lists. */
const LISTED = 20;
const FILES = 100;
const MESSAGES_PAGE = 100;

const CONTENT = both(MSG, PII);
const PEOPLE = both(needs('contact_read'), PII);
const HISTORY = both(needs('conversation_read'), PEOPLE);

/**
 * The parts of a text, and what each part needs beside the record itself. Each part needs what the operation needs that
 * shows the same data.
 */
const NEEDS = {
  conversation: {
    subject: CONTENT,
    rating: MSG,
    language: PII,
    operators: both(DIRECTORY, PII),
    contacts: PEOPLE,
    messages: CONTENT,
    internal_messages: both(CONTENT, INT),
    files: both(needs('file_read'), CONTENT),
    notes: SAID_NEEDS.notes,
  },
  contact: {
    personal_data: PII,
    visitors: HISTORY,
    conversations: HISTORY,
    subject: both(HISTORY, MSG),
    notes: SAID_NEEDS.notes,
  },
  visitor: { personal_data: PII, contacts: PEOPLE, subject: CONTENT, notes: SAID_NEEDS.notes },
} as const satisfies Record<string, Readonly<Record<string, Demand>>>;

type Kind = keyof typeof NEEDS;
type Part = { [K in Kind]: keyof (typeof NEEDS)[K] }[Kind];
export const PARTS = [...new Set(Object.values(NEEDS).flatMap((parts) => Object.keys(parts)))] as Part[]; // Object.keys returns string[]

const KINDS: Readonly<Record<string, Kind>> = { cnv: 'conversation', ctc: 'contact', vis: 'visitor' };

interface Reader {
  readonly id: string;
  readonly read: Reads;
  readonly text: RecordText;
  may(part: Part): boolean;
}

interface RecordAnswer {
  readonly title: string;
  readonly text: string;
  readonly metadata: {
    readonly kind: Kind;
    readonly website_id: string;
    readonly created_at: string | null;
    readonly truncated: boolean;
    readonly left_out: Part[];
  };
}

/** Reads a conversation, contact or visitor as one text. */
export async function readRecord(id: string, authority: Authority, read: Reads): Promise<RecordAnswer> {
  const kind = KINDS[id.slice(0, 3)] ?? 'conversation';
  const left_out = Object.entries<Demand>(NEEDS[kind]).flatMap(
    ([part, demand]) => (meets(authority, demand) ? [] : [part as Part]), // the keys of NEEDS are parts
  );
  const text = new RecordText();
  const reader: Reader = { id, read, text, may: (part) => !left_out.includes(part) };
  const { title, created_at } = await READ[kind](reader);
  const day = typeof created_at === 'string' ? created_at.slice(0, 10) : undefined;
  const without =
    kind === 'conversation' ? `Conversation of ${day}` : `${kind === 'contact' ? 'Contact' : 'Visitor'} ${id}`;
  return {
    title: typeof title === 'string' && title.trim() !== '' ? clip(title, 240) : without,
    text: text.whole(),
    metadata: {
      kind,
      website_id: parseId(id)?.website ?? '',
      created_at: typeof created_at === 'string' ? created_at : null,
      truncated: text.truncated,
      left_out,
    },
  };
}

interface Shown {
  readonly title: unknown;
  readonly created_at: unknown;
}

const READ: Readonly<Record<Kind, (reader: Reader) => Promise<Shown>>> = {
  conversation: async (reader) => {
    const { id, read, text, may } = reader;
    const one = await read.one(ConversationView, id);
    text.line(`Conversation ${id}`);
    text.said('Subject', one['subject']);
    for (const name of ['status', 'platform', 'channel_id', 'team_id', 'visitor_id', 'language'] as const)
      text.fact(labelOf(name), one[name]);
    const operator = one['operator_id'];
    if (typeof operator === 'string') {
      const { rows } = await read.page(OperatorView, { where: [sql`o.id = ${native(operator)}`], limit: 1 });
      text.line(`Operator: ${operator} ${text.words(rows[0]?.['name'])}`.trimEnd());
    }
    for (const name of ['created_at', 'first_response_at', 'last_message_at', 'closed_at', 'disposition'] as const)
      text.fact(labelOf(name), one[name]);
    const rating = Object(one['rating']) as { label?: string; score?: number | null }; // the view of conversations has these members
    text.said('Rating', rating.label);
    text.fact('Rating score', rating.score);
    const within = [{ view: ConversationView, id }] as const;
    if (may('contacts')) {
      const { rows } = await read.page(ContactView, { within, limit: LISTED });
      if (rows.length > 0) text.heading('Contacts');
      text.contacts(rows);
    }
    const visitor = one['visitor_id'];
    if (may('notes') && typeof visitor === 'string') await notes(reader, { view: VisitorView, id: visitor });
    if (may('messages')) await messages(reader);
    return { title: one['subject'], created_at: one['created_at'] };
  },
  contact: async (reader) => {
    const { id, read, text, may } = reader;
    const one = await read.one(ContactView, id);
    text.line(`Contact ${id}`);
    const names = [one['first_name'], one['last_name']].filter((name) => typeof name === 'string').join(' ');
    const title = one['name'] ?? names;
    text.said('Name', title);
    text.said('E-mail', one['email']);
    text.phone('Mobile', one, 'mobile');
    text.phone('Phone', one, 'phone');
    text.said('Company', one['company']);
    for (const name of ['language', 'country', 'time_zone', 'created_at', 'updated_at', 'blocked'] as const)
      text.fact(labelOf(name), one[name]);
    if (may('visitors')) {
      const { rows, next_cursor } = await read.page(VisitorView, {
        within: [{ view: ContactView, id }],
        limit: LISTED,
      });
      if (next_cursor !== null) text.cutHere();
      if (rows.length > 0) text.heading('Visitors, newest first');
      for (const { id: visitor, nickname, last_seen_at } of rows)
        text.line(
          ['-', visitor, text.words(nickname), last_seen_at && `last seen ${last_seen_at}`].filter(Boolean).join(' '),
        );
    }
    if (may('conversations')) await conversations(reader, { where: byConversation({ contact_id: id }) });
    if (may('notes')) await notes(reader, { view: ContactView, id });
    return { title, created_at: one['created_at'] };
  },
  visitor: async (reader) => {
    const { id, read, text, may } = reader;
    const one = await read.one(VisitorView, id);
    const within = [{ view: VisitorView, id }] as const;
    text.line(`Visitor ${id}`);
    text.said('Nickname', one['nickname']);
    for (const name of ['created_at', 'last_seen_at', 'blocked', 'conversation_count'] as const)
      text.fact(labelOf(name), one[name]);
    if (may('contacts')) {
      const { rows } = await read.page(ContactView, { within, limit: LISTED });
      if (rows.length > 0) text.heading('Contacts');
      text.contacts(rows);
    }
    await conversations(reader, { within });
    if (may('notes')) await notes(reader, within[0]);
    return { title: one['nickname'], created_at: one['created_at'] };
  },
};

const LABELS: Readonly<Record<string, string>> = {
  created_at: 'Created',
  updated_at: 'Updated',
  closed_at: 'Closed',
  first_response_at: 'First reply',
  last_message_at: 'Last message',
  last_seen_at: 'Last seen',
  conversation_count: 'Conversations',
};
/** The label of a member: `channel_id` is labelled `Channel`. */
function labelOf(member: string): string {
  const words = LABELS[member] ?? member.replace(/_id$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

type Page = Parameters<Reads['page']>[1];

async function conversations(
  { read, text }: Reader,
  of: Pick<Page, 'where'> & { within?: readonly [{ view: typeof VisitorView; id: string }] },
): Promise<void> {
  const { rows, next_cursor } = await read.page(ConversationView, { ...of, limit: LISTED });
  if (next_cursor !== null) text.cutHere();
  if (rows.length > 0) text.heading('Conversations, newest first');
  text.conversations(rows);
}

async function notes(
  { read, text }: Reader,
  owner: { view: typeof VisitorView | typeof ContactView; id: string },
): Promise<void> {
  const { rows, next_cursor } = await read.page(NoteView, { within: [owner], limit: LISTED });
  if (next_cursor !== null) text.cutHere();
  if (rows.length > 0) text.heading('Notes of operators, newest first');
  text.notes(rows);
}

/** Adds the newest messages that fit into the text, oldest first. */
async function messages({ id, read, text, may }: Reader): Promise<void> {
  const internal = may('internal_messages');
  const within = [{ view: ConversationView, id }] as const;
  const files = may('files')
    ? (await read.page(FileView, { within, where: internal ? [] : [publicFilesOnly], limit: FILES })).rows
    : [];
  text.heading('Messages, oldest first');
  const kept: string[] = [];
  let left = text.left;
  let cursor: string | undefined;
  do {
    const page: { rows: readonly Projection[]; next_cursor: string | null } = await read.page(MessageView, {
      ...{ within, where: internal ? [] : [publicOnly], direction: 'desc', cursor, limit: MESSAGES_PAGE },
    });
    for (const row of page.rows) {
      const message = text.message(
        row,
        files.filter((file) => file['message_id'] === row['id']),
        left,
      );
      if (message === undefined) {
        text.cutHere();
        left = 0;
        break;
      }
      kept.push(message);
      left -= bytesOf(message) + 1;
    }
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && left > 0);
  if (cursor !== undefined) text.cutHere();
  for (const message of kept.reverse()) text.line(message, TEXT_BYTES);
}
