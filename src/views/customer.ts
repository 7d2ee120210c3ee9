import { z } from 'zod';
import { example } from '../core/example.ts';
import { ContactId, ConversationId, VisitorId, WebsiteId } from '../core/ids.ts';
import { named } from '../core/json-schema.ts';
import type { Customer } from '../core/reads.ts';
import { both, type Grants, holds, MSG, needs, PII } from '../core/scopes.ts';
import { writtenBy } from '../core/texts.ts';
import { clip, Time } from '../core/view.ts';
import { Platform, STATUS_WORDS, type STATUSES, Status } from './conversation.ts';

export const HISTORY = needs('conversation_read');
const SUBJECT = both(HISTORY, MSG, PII);
const text = (max: number) => writtenBy('outsiders', z.string().max(max)).nullable();
const ungranted = 'Absent if the credential lacks conversation_read.';

const others = (same: string, absent: string) =>
  z
    .int()
    .min(0)
    .nullable()
    .describe(`Other people on the granted websites with the same ${same}, at most 100. ${absent}`);

const LastConversation = named(
  'LastConversation',
  z.strictObject({
    id: ConversationId.schema,
    created_at: Time.describe('Time at which the conversation started.'),
    status: example('closed', Status.describe(`Status of the conversation: ${STATUS_WORDS}.`)),
    subject: example(
      'Broken pole on Campanula Ultralight',
      text(500)
        .optional()
        .describe('Subject of the conversation. Null if there is none. Absent if this data is not granted.'),
    ),
    platform: Platform.describe('Platform of the conversation.'),
    disposition: example(
      'resolved',
      writtenBy('service', z.string()).nullable().describe('Disposition of the conversation. Null if there is none.'),
    ),
  }),
);

export const CustomerSchema = named(
  'Customer',
  z.strictObject({
    contact_id: ContactId.schema,
    website_id: WebsiteId,
    name: example('Callum Hargrove', text(240).describe('Full name of the contact. Null if no full name is stored.')),
    email: example(
      'en.us.74@example.org',
      text(320).describe('Primary e-mail address of the contact. Null if no address is stored.'),
    ),
    phone: example(
      '+12125550142',
      text(40).describe(
        'The telephone number that was searched, else the mobile number, else another one. In E.164 form if it can be read. Null if no number is stored.',
      ),
    ),
    visitor_ids: z
      .array(VisitorId.schema)
      .max(100)
      .optional()
      .describe(`The newest 100 visitors that are linked to the contact. ${ungranted}`),
    conversation_count: example(
      2,
      z.int().min(0).optional().describe(`Number of conversations in which the contact takes part. ${ungranted}`),
    ),
    last_conversation: LastConversation.nullable()
      .optional()
      .describe(`The newest of these conversations. Null if there is none. ${ungranted}`),
    last_conversations: z
      .array(LastConversation)
      .max(5)
      .optional()
      .describe(`The newest five of these conversations, the newest first. ${ungranted}`),
    same_number: example(0, others('number', 'Null without a readable number.')),
    same_name: example(1, others('name', 'Null without a name, and while an upgraded store builds an index.')),
  }),
);

const clipped = (stored: string | null, max: number): string | null => (stored === null ? null : clip(stored, max));

export function customerOf(customer: Customer, grants: Grants): z.infer<typeof CustomerSchema> {
  const { website, id, name, email, phone, same, history } = customer;
  const last = history?.last.map((one) => ({
    id: ConversationId.format(website, one.id),
    created_at: one.created_at,
    status: one.status as (typeof STATUSES)[number], // a check of the column permits only these values
    ...(holds(grants, SUBJECT) && { subject: clipped(one.subject, 500) }),
    platform: one.platform as z.infer<typeof Platform>, // a check of the column permits only these values
    disposition: one.disposition,
  }));
  return {
    contact_id: ContactId.format(website, id),
    website_id: website.id,
    ...{ name: clipped(name, 240), email: clipped(email, 320), phone: clipped(phone, 40) },
    ...(history && {
      visitor_ids: history.visitors.map((visitor) => VisitorId.format(website, visitor)),
      conversation_count: history.conversations,
      last_conversation: last?.[0] ?? null,
      last_conversations: last,
    }),
    same_number: same.number,
    same_name: same.name,
  };
}
