import { z } from 'zod';
import { EVENT_FAMILIES, EVENT_KINDS, type EventPage } from '../core/events.ts';
import { SubscriptionId, WebsiteId } from '../core/ids.ts';
import { EventCursor } from './subscription.ts';

const ALL_TYPES = EVENT_FAMILIES.flatMap((family) => EVENT_KINDS.map((kind) => `${family}.${kind}`));

/** A receipt: that something changed, never what (contract, Event receipt). */
const EventReceipt = z.strictObject({
  event_id: z
    .string()
    .regex(/^evt_[a-f0-9]{64}$/)
    .describe('Id of the event; deduplicate on it.'),
  event_type: z.enum(ALL_TYPES).describe('What kind of change.'),
  website_id: WebsiteId.describe('Website that changed.'),
  cursor: z.int().min(1).describe('Position within the website’s journal.'),
  occurred_at: z.int().describe('Unix milliseconds of the change.'),
  recorded_at: z.int().describe('Unix milliseconds of the journal’s entry.'),
});

/** The answer of a pull, and a page of the realtime socket. */
export const EventPageView: z.ZodType<EventPage, EventPage> = z.strictObject({
  subscription_id: SubscriptionId,
  revision: z.int().min(1).describe('Revision of the subscription.'),
  events: z.array(EventReceipt).max(100).describe('Receipts; of one website in order, over websites not.'),
  next_cursor: EventCursor.describe('Store it, and pass it as after.'),
  has_more: z.boolean().describe('Pull again while true, also where events is empty.'),
  retention: z
    .array(
      z.strictObject({
        website_id: WebsiteId,
        retained_from: z.int().min(1).describe('Oldest position still stored, or the next one.'),
        accepted_cursor: z.int().min(0).describe('Position up to which after has taken the website.'),
      }),
    )
    .max(50)
    .describe('What each journal still holds.'),
  coverage: z
    .array(
      z.strictObject({
        website_id: WebsiteId,
        coverage: z
          .enum(['stored_events_only', 'unreported'])
          .describe('unreported: no event of these families was ever stored.'),
      }),
    )
    .max(50)
    .describe('What the receipts were read from.'),
});
