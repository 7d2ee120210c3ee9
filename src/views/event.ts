import { z } from 'zod';
import { EVENT_FAMILIES, EVENT_KINDS, type EventPage } from '../core/events.ts';
import { SubscriptionId, WebsiteId } from '../core/ids.ts';
import { EventCursor } from './subscription.ts';

const ALL_TYPES = EVENT_FAMILIES.flatMap((family) => EVENT_KINDS.map((kind) => `${family}.${kind}`));

/** A receipt says that something on a website changed. A receipt never contains the changed data. */
const EventReceipt = z.strictObject({
  event_id: z
    .string()
    .regex(/^evt_[a-f0-9]{64}$/)
    .describe('Id of the event, the same each time it is delivered: use it to drop duplicates.'),
  event_type: z.enum(ALL_TYPES).describe('Event family and kind of change.'),
  website_id: WebsiteId.describe('Website that changed.'),
  cursor: z.int().min(1).describe('Position in the journal of the website.'),
  occurred_at: z.int().describe('When the change happened, in Unix milliseconds.'),
  recorded_at: z.int().describe('When the journal recorded the change, in Unix milliseconds.'),
});

export const EventPageView: z.ZodType<EventPage, EventPage> = z.strictObject({
  subscription_id: SubscriptionId,
  revision: z.int().min(1).describe('Revision of the subscription that the page was read with.'),
  events: z
    .array(EventReceipt)
    .max(100)
    .describe('Receipts, ordered within a website; there is no order across websites.'),
  next_cursor: EventCursor.describe('Cursor of the next page: store it and pass it as after.'),
  has_more: z.boolean().describe('Whether more receipts wait: pull again while true, even if events is empty.'),
  retention: z
    .array(
      z.strictObject({
        website_id: WebsiteId,
        retained_from: z
          .int()
          .min(1)
          .describe('Oldest position that the journal holds; if it holds none, the next position.'),
        accepted_cursor: z.int().min(0).describe('Position on this website that the cursor in after has reached.'),
      }),
    )
    .max(50)
    .describe('Range that the journal of each website still holds.'),
  coverage: z
    .array(
      z.strictObject({
        website_id: WebsiteId,
        coverage: z
          .enum(['stored_events_only', 'unreported'])
          .describe('unreported: no event of these families was ever stored; otherwise stored_events_only.'),
      }),
    )
    .max(50)
    .describe('Whether the journal of each website ever held such events.'),
});
