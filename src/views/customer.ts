import { z } from 'zod';
import { ContactId, ConversationId, VisitorId, WebsiteId } from '../core/ids.ts';
import type { Customer } from '../core/reads.ts';
import { both, type Grants, holds, MSG, needs, PII } from '../core/scopes.ts';
import { writtenBy } from '../core/texts.ts';
import { clip, Time } from '../core/view.ts';
import { STATUS_WORDS, STATUSES } from './conversation.ts';

export const HISTORY = needs('conversation_read');
const SUBJECT = both(HISTORY, MSG, PII);
const text = (max: number) => writtenBy('outsiders', z.string().max(max)).nullable();
const ungranted = 'Absent if the credential lacks conversation_read.';

export const CustomerSchema = z.strictObject({
  contact_id: ContactId.schema,
  website_id: WebsiteId,
  name: text(240).describe('Full name of the contact. Null if no full name is stored.'),
  email: text(320).describe('Primary e-mail address of the contact. Null if no address is stored.'),
  phone: text(40).describe(
    'The telephone number that was searched, else the mobile number, else another one. In E.164 form if it can be read. Null if no number is stored.',
  ),
  visitor_ids: z
    .array(VisitorId.schema)
    .max(100)
    .optional()
    .describe(`The newest 100 visitors that are linked to the contact. ${ungranted}`),
  conversation_count: z
    .int()
    .min(0)
    .optional()
    .describe(`Number of conversations in which the contact takes part. ${ungranted}`),
  last_conversation: z
    .strictObject({
      id: ConversationId.schema,
      created_at: Time.describe('Time at which the conversation started.'),
      status: z.enum(STATUSES).describe(`Status of the conversation: ${STATUS_WORDS}.`),
      subject: text(500)
        .optional()
        .describe('Subject of the conversation. Null if there is none. Absent if this data is not granted.'),
    })
    .nullable()
    .optional()
    .describe(`The newest of these conversations. Null if there is none. ${ungranted}`),
});

const clipped = (stored: string | null, max: number): string | null => (stored === null ? null : clip(stored, max));

/** The public form of a customer for a caller with these grants. */
export function customerOf(customer: Customer, grants: Grants): z.infer<typeof CustomerSchema> {
  const { website, id, name, email, phone, history } = customer;
  return {
    contact_id: ContactId.format(website, id),
    website_id: website.id,
    ...{ name: clipped(name, 240), email: clipped(email, 320), phone: clipped(phone, 40) },
    ...(history && {
      visitor_ids: history.visitors.map((visitor) => VisitorId.format(website, visitor)),
      conversation_count: history.conversations,
      last_conversation: history.last && {
        id: ConversationId.format(website, history.last.id),
        created_at: history.last.created_at,
        status: history.last.status as (typeof STATUSES)[number], // a check of the column permits only these values
        ...(holds(grants, SUBJECT) && { subject: clipped(history.last.subject, 500) }),
      },
    }),
  };
}
