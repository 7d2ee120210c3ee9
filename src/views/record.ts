import { type Demand, meets, type Rights } from '../core/authority.ts';
import { parseId } from '../core/ids.ts';
import type { Page, Reads } from '../core/reads.ts';
import { both, DIRECTORY, INT, MSG, needs, PII } from '../core/scopes.ts';
import { SAID_NEEDS } from '../core/search.ts';
import { clip, type Projection } from '../core/view.ts';
import { PARTS as HANDOVER, HandoverView } from './brief.ts';
import { ContactView } from './contact.ts';
import { ConversationView } from './conversation.ts';
import { byConversation } from './conversation-filters.ts';
import { FileView, publicFilesOnly } from './file.ts';
import { MessageView, publicOnly } from './message.ts';
import { NoteView } from './note.ts';
import { RecordParts } from './record-parts.ts';
import { RecordText, type RecordWriter } from './record-text.ts';
import { VisitorView } from './visitor.ts';

/** Rows that a text lists. */
const LISTED = 20;
const FILES = 100;
const MESSAGES_PAGE = 100;

const CONTENT = both(MSG, PII);
const PEOPLE = both(needs('contact_read'), PII);
const HISTORY = both(needs('conversation_read'), PEOPLE);

/** The parts of a text. Each needs the grants of the operation that shows the same data. */
const NEEDS = {
  conversation: {
    subject: CONTENT,
    rating: MSG,
    language: PII,
    operators: both(DIRECTORY, PII),
    team: HANDOVER.team,
    channel: HANDOVER.channel,
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

type PartKind = keyof typeof NEEDS;
type Part = { [K in PartKind]: keyof (typeof NEEDS)[K] }[PartKind];
export const PARTS = [...new Set(Object.values(NEEDS).flatMap((parts) => Object.keys(parts)))] as Part[]; // Object.keys returns string[]

/** The needs by part. A part whose needs differ by kind has a name for each kind, such as `subject of a contact`. */
export const PART_NEEDS: Readonly<Record<string, Demand>> = Object.entries(NEEDS).reduce<Record<string, Demand>>(
  (all, [kind, parts]) => {
    for (const [part, demand] of Object.entries<Demand>(parts))
      all[(all[part] ?? demand) === demand ? part : `${part} of a ${kind}`] = demand;
    return all;
  },
  {},
);

const KINDS: Readonly<Record<string, PartKind>> = { cnv: 'conversation', ctc: 'contact', vis: 'visitor' };

interface RecordReader {
  readonly id: string;
  readonly read: RecordReads;
  readonly to: RecordWriter;
  may(part: Part): boolean;
}

type RecordReads = Pick<Reads, 'one' | 'page'>;

interface RecordHead {
  readonly title: string;
  readonly metadata: {
    readonly kind: PartKind;
    readonly website_id: string;
    readonly created_at: string | null;
    readonly truncated: boolean;
    readonly left_out: Part[];
  };
}

const kindOf = (id: string): PartKind => KINDS[id.slice(0, 3)] ?? 'conversation';
const NOUNS: Readonly<Record<PartKind, string>> = {
  conversation: 'Conversation',
  contact: 'Contact',
  visitor: 'Visitor',
};

/** Reads a conversation, contact or visitor as one text for a model. */
export async function readRecord(
  id: string,
  rights: Rights,
  read: RecordReads,
): Promise<RecordHead & { readonly text: string }> {
  const text = new RecordText(`${NOUNS[kindOf(id)]} ${id}`);
  const { title, metadata } = await write(id, rights, read, text);
  return { title, text: text.whole(), metadata };
}

/** Reads a conversation, contact or visitor as parts for a page that people read. */
export async function readRecordParts(
  id: string,
  rights: Rights,
  read: RecordReads,
): Promise<RecordHead & { readonly parts: RecordParts }> {
  const parts = new RecordParts();
  return { ...(await write(id, rights, read, parts)), parts };
}

async function write(id: string, rights: Rights, read: RecordReads, to: RecordWriter): Promise<RecordHead> {
  const kind = kindOf(id);
  const left_out = Object.entries<Demand>(NEEDS[kind]).flatMap(
    ([part, demand]) => (meets(rights, demand) ? [] : [part as Part]), // the keys of NEEDS are parts
  );
  const { title, created_at } = await READ[kind]({ id, read, to, may: (part) => !left_out.includes(part) });
  const day = typeof created_at === 'string' ? created_at.slice(0, 10) : undefined;
  const without = kind === 'conversation' ? `Conversation of ${day}` : `${NOUNS[kind]} ${id}`;
  return {
    title: typeof title === 'string' && title.trim() !== '' ? clip(title, 240) : without,
    metadata: {
      kind,
      website_id: parseId(id)?.website ?? '',
      created_at: typeof created_at === 'string' ? created_at : null,
      truncated: to.truncated,
      left_out,
    },
  };
}

interface Shown {
  readonly title: unknown;
  readonly created_at: unknown;
}

const nameIn = (member: unknown): unknown => Object(member)['name'];

const READ: Readonly<Record<PartKind, (reader: RecordReader) => Promise<Shown>>> = {
  conversation: async (reader) => {
    const { id, read, to, may } = reader;
    const one = await read.one(HandoverView, id);
    to.said('Subject', one['subject']);
    for (const name of ['status', 'platform', 'channel_id', 'team_id', 'visitor_id'] as const)
      to.fact(labelOf(name), one[name], nameIn(one[name.replace(/_id$/, '')]));
    to.said('Language', one['language']);
    const operator = one['operator_id'];
    if (typeof operator === 'string') to.operator(operator, nameIn(one['operator']));
    for (const name of ['created_at', 'first_response_at', 'last_message_at', 'closed_at'] as const)
      to.fact(labelOf(name), one[name]);
    to.said('Disposition', one['disposition']);
    const rating = Object(one['rating']) as { label?: string; score?: number | null }; // the view of conversations has these members
    to.said('Rating', rating.label);
    to.fact('Rating score', rating.score);
    if (may('contacts')) {
      const page = await read.page(ContactView, { within: [{ view: ConversationView, id }], limit: LISTED });
      to.contacts(rowsOf(to, page));
    }
    const visitor = one['visitor_id'];
    if (may('notes') && typeof visitor === 'string') await notes(reader, { view: VisitorView, id: visitor });
    if (may('messages')) await messages(reader);
    return { title: one['subject'], created_at: one['created_at'] };
  },
  contact: async (reader) => {
    const { id, read, to, may } = reader;
    const one = await read.one(ContactView, id);
    const names = [one['first_name'], one['last_name']].filter((name) => typeof name === 'string').join(' ');
    const title = one['name'] ?? names;
    to.said('Name', title);
    to.said('E-mail', one['email']);
    to.phone('Mobile', one, 'mobile');
    to.phone('Phone', one, 'phone');
    to.said('Company', one['company']);
    to.said('Language', one['language']);
    to.said('Time zone', one['time_zone']);
    for (const name of ['country', 'created_at', 'updated_at', 'blocked'] as const) to.fact(labelOf(name), one[name]);
    if (may('visitors')) {
      const page = await read.page(VisitorView, { within: [{ view: ContactView, id }], limit: LISTED });
      to.visitors(rowsOf(to, page));
    }
    if (may('conversations')) await conversations(reader, { where: byConversation({ contact_id: id }) });
    if (may('notes')) await notes(reader, { view: ContactView, id });
    return { title, created_at: one['created_at'] };
  },
  visitor: async (reader) => {
    const { id, read, to, may } = reader;
    const one = await read.one(VisitorView, id);
    const within = [{ view: VisitorView, id }] as const;
    to.said('Nickname', one['nickname']);
    for (const name of ['created_at', 'last_seen_at', 'blocked', 'conversation_count'] as const)
      to.fact(labelOf(name), one[name]);
    if (may('contacts')) to.contacts(rowsOf(to, await read.page(ContactView, { within, limit: LISTED })));
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
/** `channel_id` is labelled `Channel`. */
function labelOf(member: string): string {
  const words = LABELS[member] ?? member.replace(/_id$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The rows of a page. If more rows follow, the record is marked as incomplete. */
function rowsOf<Name extends string>(to: RecordWriter, { rows, next_cursor }: Page<Name>): Projection<Name>[] {
  if (next_cursor !== null) to.cutHere();
  return rows;
}

type PageOptions = Parameters<Reads['page']>[1];

async function conversations(
  { read, to }: RecordReader,
  of: Pick<PageOptions, 'where'> & { within?: readonly [{ view: typeof VisitorView; id: string }] },
): Promise<void> {
  to.conversations(rowsOf(to, await read.page(ConversationView, { ...of, limit: LISTED })));
}

async function notes(
  { read, to }: RecordReader,
  owner: { view: typeof VisitorView | typeof ContactView; id: string },
): Promise<void> {
  to.notes(rowsOf(to, await read.page(NoteView, { within: [owner], limit: LISTED })));
}

/** Adds the newest messages, as many as the writer has room for. */
async function messages({ id, read, to, may }: RecordReader): Promise<void> {
  const internal = may('internal_messages');
  const within = [{ view: ConversationView, id }] as const;
  const files = may('files')
    ? rowsOf(to, await read.page(FileView, { within, where: internal ? [] : [publicFilesOnly], limit: FILES }))
    : [];
  let cursor: string | undefined;
  do {
    const page: { rows: readonly Projection[]; next_cursor: string | null } = await read.page(MessageView, {
      ...{ within, where: internal ? [] : [publicOnly], direction: 'desc', cursor, limit: MESSAGES_PAGE },
    });
    for (const row of page.rows) {
      const attached = files.filter((file) => file['message_id'] === row['id']);
      if (!to.message(row, attached)) {
        to.cutHere();
        return;
      }
    }
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
}
