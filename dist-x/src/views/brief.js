import { z } from 'zod';
import { meets } from '../core/authority.js';
import { example } from '../core/example.js';
import { ChannelId, ContactId, ConversationId, OperatorId, TeamId } from '../core/ids.js';
import { named } from '../core/json-schema.js';
import { both, DIRECTORY, MSG, needs, PII } from '../core/scopes.js';
import { SAID_NEEDS } from '../core/search.js';
import { raw } from '../core/sql.js';
import { writtenBy } from '../core/texts.js';
import { listOf } from '../core/tool.js';
import * as f from '../core/view.js';
import { ContactView } from './contact.js';
import { ConversationView } from './conversation.js';
import { MessageView } from './message.js';
import { NoteView } from './note.js';
/** The parts of a brief that need further grants: those of the operation that shows the same data. */
export const PARTS = {
    contacts: both(needs('contact_read'), PII),
    operator: both(DIRECTORY, PII),
    team: needs('live_read'),
    channel: needs('live_read'),
    messages: both(MSG, PII),
    notes: SAID_NEEDS.notes,
};
const PART_NAMES = Object.keys(PARTS); // Object.keys returns string[]
export const leftOut = (authority) => PART_NAMES.filter((part) => !meets(authority, PARTS[part]));
const Named = (noun, { schema }, writer, shown) => z
    .strictObject({
    id: schema.describe(`Id of the ${noun}.`),
    name: example(shown, writtenBy(writer, z.string().max(240)).nullable().describe(`Name of the ${noun}. Null if there is no name.`)),
})
    .nullable();
/** A member with the id and the name of the conversation's operator, team or channel. `table` also names the column, and `shown` is an example of the name. */
const withName = (table, noun, kind, writer, shown) => f.derived(Named(noun, kind, writer, shown).describe(`The ${noun} of the conversation. Null if the conversation has no ${noun}.`), [
    raw(`c.${table}_id`),
    raw(`(SELECT o.name FROM platform.${table} o WHERE o.tenant = c.tenant AND o.site = c.site AND o.id = c.${table}_id)`),
], ([id, name], { website }) => id === null ? null : { id: kind.format(website, String(id)), name: name === null ? null : f.clip(name, 240) }, { needs: PARTS[table] });
/** A conversation with the names of its operator, team and channel, in one statement. */
export const HandoverView = f.defineView({
    name: 'Conversation',
    table: 'platform.conversation',
    alias: 'c',
    id: ConversationId,
    ...(ConversationView.reachable && { reachable: ConversationView.reachable }),
    fields: {
        ...ConversationView.fields,
        operator: withName('operator', 'assigned operator', OperatorId, 'outsiders', 'Priya Raman'),
        team: withName('team', 'team', TeamId, 'service', 'Returns and exchanges'),
        channel: withName('channel', 'channel', ChannelId, 'service', 'WhatsApp US'),
    },
});
const absent = (schema) => schema.optional().describe(`${schema.description ?? ''} Absent if this data is not granted.`);
const fieldOf = (view, name) => view.fields[name]?.schema ?? z.never();
const BriefContact = named('BriefContact', z.strictObject({
    id: ContactId.schema,
    name: fieldOf(ContactView, 'name'),
    email: fieldOf(ContactView, 'email'),
}));
export const BriefParts = {
    contacts: absent(listOf(BriefContact).describe('Contacts that take part in the conversation, the newest first.')),
    operator: absent(fieldOf(HandoverView, 'operator')),
    team: absent(fieldOf(HandoverView, 'team')),
    channel: absent(fieldOf(HandoverView, 'channel')),
    messages: absent(listOf(MessageView.schema).describe('The newest messages of the conversation, the oldest of them first.')),
    notes: absent(z.array(NoteView.schema).max(20).describe('The newest 20 notes on the visitor, the newest first.')),
    left_out: example([], z.array(z.enum(PART_NAMES)).describe('Parts that are absent because they are not granted.')),
};
//# sourceMappingURL=brief.js.map