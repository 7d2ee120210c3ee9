import { z } from 'zod';
import { type Authority, type Demand, meets } from '../core/authority.ts';
import { example } from '../core/example.ts';
import { ChannelId, ContactId, ConversationId, type IdKind, OperatorId, TeamId } from '../core/ids.ts';
import { named } from '../core/json-schema.ts';
import { both, DIRECTORY, MSG, needs, PII } from '../core/scopes.ts';
import { SAID_NEEDS } from '../core/search.ts';
import { raw } from '../core/sql.ts';
import { type TextWriter, writtenBy } from '../core/texts.ts';
import { listOf } from '../core/tool.ts';
import * as f from '../core/view.ts';
import { ContactView } from './contact.ts';
import { ConversationView } from './conversation.ts';
import { MessageView } from './message.ts';
import { NoteView } from './note.ts';

/** The parts of a brief that need further grants: those of the operation that shows the same data. */
export const PARTS = {
  contacts: both(needs('contact_read'), PII),
  operator: both(DIRECTORY, PII),
  team: needs('live_read'),
  channel: needs('live_read'),
  messages: both(MSG, PII),
  notes: SAID_NEEDS.notes,
} as const satisfies Readonly<Record<string, Demand>>;
const PART_NAMES = Object.keys(PARTS) as (keyof typeof PARTS)[]; // Object.keys returns string[]

export const leftOut = (authority: Authority): (keyof typeof PARTS)[] =>
  PART_NAMES.filter((part) => !meets(authority, PARTS[part]));

const Named = (noun: string, { schema }: IdKind, writer: TextWriter, shown: string) =>
  z
    .strictObject({
      id: schema.describe(`Id of the ${noun}.`),
      name: example(
        shown,
        writtenBy(writer, z.string().max(240)).nullable().describe(`Name of the ${noun}. Null if there is no name.`),
      ),
    })
    .nullable();

/** A member with the id and the name of the conversation's operator, team or channel. `table` also names the column, and `shown` is an example of the name. */
const withName = (
  table: 'operator' | 'team' | 'channel',
  noun: string,
  kind: IdKind,
  writer: TextWriter,
  shown: string,
): f.Field =>
  f.derived(
    Named(noun, kind, writer, shown).describe(
      `The ${noun} of the conversation. Null if the conversation has no ${noun}.`,
    ),
    [
      raw(`c.${table}_id`),
      raw(
        `(SELECT o.name FROM platform.${table} o WHERE o.tenant = c.tenant AND o.site = c.site AND o.id = c.${table}_id)`,
      ),
    ],
    ([id, name], { website }) =>
      id === null ? null : { id: kind.format(website, String(id)), name: name === null ? null : f.clip(name, 240) },
    { needs: PARTS[table] },
  );

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

const absent = (schema: z.ZodType): z.ZodType =>
  schema.optional().describe(`${schema.description ?? ''} Absent if this data is not granted.`);
const fieldOf = (view: { readonly fields: Readonly<Record<string, f.Field>> }, name: string): z.ZodType =>
  view.fields[name]?.schema ?? z.never();

const BriefContact = named(
  'BriefContact',
  z.strictObject({
    id: ContactId.schema,
    name: fieldOf(ContactView, 'name'),
    email: fieldOf(ContactView, 'email'),
  }),
);

export const BriefParts = {
  contacts: absent(listOf(BriefContact).describe('Contacts that take part in the conversation, the newest first.')),
  operator: absent(fieldOf(HandoverView, 'operator')),
  team: absent(fieldOf(HandoverView, 'team')),
  channel: absent(fieldOf(HandoverView, 'channel')),
  messages: absent(
    listOf(MessageView.schema).describe('The newest messages of the conversation, the oldest of them first.'),
  ),
  notes: absent(z.array(NoteView.schema).max(20).describe('The newest 20 notes on the visitor, the newest first.')),
  left_out: example(
    [],
    z
      .array(z.enum(PART_NAMES))
      .describe(
        'Parts that are absent because they are not granted. Of a handover also notes, if the oldest do not fit.',
      ),
  ),
};
