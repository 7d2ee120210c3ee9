import { z } from 'zod';
import { example } from '../core/example.ts';
import { ContactId, ConversationId, VisitorId, WebsiteId } from '../core/ids.ts';
import { named } from '../core/json-schema.ts';
import type { Customer } from '../core/reads.ts';
import { both, type Grants, holds, MSG, needs, PII } from '../core/scopes.ts';
import { writtenBy } from '../core/texts.ts';
import { clip, Time } from '../core/view.ts';
import { STATUS_WORDS, type STATUSES, Status } from './conversation.ts';

export const HISTORY = needs('conversation_read');
const SUBJECT = both(HISTORY, MSG, PII);
const text = (max: number) => writtenBy('outsiders', z.string().max(max)).nullable();
const ungranted = 'Absent if the credential lacks conversation_read.';

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
    last_conversation: z
      .strictObject({
        id: ConversationId.schema,
        created_at: Time.describe('Time at which the conversation started.'),
        status: example('closed', Status.describe(`Status of the conversation: ${STATUS_WORDS}.`)),
        subject: example(
          'Broken pole on Campanula Ultralight',
          text(500)
            .optional()
            .describe('Subject of the conversation. Null if there is none. Absent if this data is not granted.'),
        ),
      })
      .nullable()
      .optional()
      .describe(`The newest of these conversations. Null if there is none. ${ungranted}`),
  }),
);

const clipped = (stored: string | null, max: number): string | null => (stored === null ? null : clip(stored, max));

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
