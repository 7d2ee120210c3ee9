import { meets } from '../core/authority.js';
import { parseId } from '../core/ids.js';
import { both, DIRECTORY, INT, MSG, needs, PII } from '../core/scopes.js';
import { SAID_NEEDS } from '../core/search.js';
import { clip } from '../core/view.js';
import { PARTS as HANDOVER, HandoverView } from './brief.js';
import { ContactView } from './contact.js';
import { ConversationView } from './conversation.js';
import { byConversation } from './conversation-filters.js';
import { FileView, publicFilesOnly } from './file.js';
import { MessageView, publicOnly } from './message.js';
import { NoteView } from './note.js';
import { RecordParts } from './record-parts.js';
import { RecordText } from './record-text.js';
import { VisitorView } from './visitor.js';
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
};
export const PARTS = [...new Set(Object.values(NEEDS).flatMap((parts) => Object.keys(parts)))]; // Object.keys returns string[]
/** The needs by part. A part whose needs differ by kind has a name for each kind, such as `subject of a contact`. */
export const PART_NEEDS = Object.entries(NEEDS).reduce((all, [kind, parts]) => {
    for (const [part, demand] of Object.entries(parts))
        all[(all[part] ?? demand) === demand ? part : `${part} of a ${kind}`] = demand;
    return all;
}, {});
const KINDS = { cnv: 'conversation', ctc: 'contact', vis: 'visitor' };
const kindOf = (id) => KINDS[id.slice(0, 3)] ?? 'conversation';
const NOUNS = {
    conversation: 'Conversation',
    contact: 'Contact',
    visitor: 'Visitor',
};
/** Reads a conversation, contact or visitor as one text for a model. */
export async function readRecord(id, rights, read) {
    const text = new RecordText(`${NOUNS[kindOf(id)]} ${id}`);
    const { title, metadata } = await write(id, rights, read, text);
    return { title, text: text.whole(), metadata };
}
/** Reads a conversation, contact or visitor as parts for a page that people read. */
export async function readRecordParts(id, rights, read) {
    const parts = new RecordParts();
    return { ...(await write(id, rights, read, parts)), parts };
}
async function write(id, rights, read, to) {
    const kind = kindOf(id);
    const left_out = Object.entries(NEEDS[kind]).flatMap(([part, demand]) => (meets(rights, demand) ? [] : [part]));
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
const nameIn = (member) => Object(member)['name'];
const READ = {
    conversation: async (reader) => {
        const { id, read, to, may } = reader;
        const one = await read.one(HandoverView, id);
        to.said('Subject', one['subject']);
        for (const name of ['status', 'platform', 'channel_id', 'team_id', 'visitor_id'])
            to.fact(labelOf(name), one[name], nameIn(one[name.replace(/_id$/, '')]));
        to.said('Language', one['language']);
        const operator = one['operator_id'];
        if (typeof operator === 'string')
            to.operator(operator, nameIn(one['operator']));
        for (const name of ['created_at', 'first_response_at', 'last_message_at', 'closed_at'])
            to.fact(labelOf(name), one[name]);
        to.said('Disposition', one['disposition']);
        const rating = Object(one['rating']); // the view of conversations has these members
        to.said('Rating', rating.label);
        to.fact('Rating score', rating.score);
        if (may('contacts')) {
            const { rows } = await read.page(ContactView, { within: [{ view: ConversationView, id }], limit: LISTED });
            to.contacts(rows);
        }
        const visitor = one['visitor_id'];
        if (may('notes') && typeof visitor === 'string')
            await notes(reader, { view: VisitorView, id: visitor });
        if (may('messages'))
            await messages(reader);
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
        for (const name of ['country', 'created_at', 'updated_at', 'blocked'])
            to.fact(labelOf(name), one[name]);
        if (may('visitors')) {
            const { rows, next_cursor } = await read.page(VisitorView, {
                within: [{ view: ContactView, id }],
                limit: LISTED,
            });
            if (next_cursor !== null)
                to.cutHere();
            to.visitors(rows);
        }
        if (may('conversations'))
            await conversations(reader, { where: byConversation({ contact_id: id }) });
        if (may('notes'))
            await notes(reader, { view: ContactView, id });
        return { title, created_at: one['created_at'] };
    },
    visitor: async (reader) => {
        const { id, read, to, may } = reader;
        const one = await read.one(VisitorView, id);
        const within = [{ view: VisitorView, id }];
        to.said('Nickname', one['nickname']);
        for (const name of ['created_at', 'last_seen_at', 'blocked', 'conversation_count'])
            to.fact(labelOf(name), one[name]);
        if (may('contacts'))
            to.contacts((await read.page(ContactView, { within, limit: LISTED })).rows);
        await conversations(reader, { within });
        if (may('notes'))
            await notes(reader, within[0]);
        return { title: one['nickname'], created_at: one['created_at'] };
    },
};
const LABELS = {
    created_at: 'Created',
    updated_at: 'Updated',
    closed_at: 'Closed',
    first_response_at: 'First reply',
    last_message_at: 'Last message',
    last_seen_at: 'Last seen',
    conversation_count: 'Conversations',
};
/** `channel_id` is labelled `Channel`. */
function labelOf(member) {
    const words = LABELS[member] ?? member.replace(/_id$/, '').replaceAll('_', ' ');
    return words.charAt(0).toUpperCase() + words.slice(1);
}
async function conversations({ read, to }, of) {
    const { rows, next_cursor } = await read.page(ConversationView, { ...of, limit: LISTED });
    if (next_cursor !== null)
        to.cutHere();
    to.conversations(rows);
}
async function notes({ read, to }, owner) {
    const { rows, next_cursor } = await read.page(NoteView, { within: [owner], limit: LISTED });
    if (next_cursor !== null)
        to.cutHere();
    to.notes(rows);
}
/** Adds the newest messages, as many as the writer has room for. */
async function messages({ id, read, to, may }) {
    const internal = may('internal_messages');
    const within = [{ view: ConversationView, id }];
    const files = may('files')
        ? (await read.page(FileView, { within, where: internal ? [] : [publicFilesOnly], limit: FILES })).rows
        : [];
    let cursor;
    do {
        const page = await read.page(MessageView, {
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
//# sourceMappingURL=record.js.map