import { z } from 'zod';
import { EVENT_FAMILIES, EVENT_KINDS } from '../core/events.js';
import { example } from '../core/example.js';
import { SubscriptionId, WebsiteId } from '../core/ids.js';
import { named } from '../core/json-schema.js';
import { EventCursor } from './subscription.js';
const ALL_TYPES = EVENT_FAMILIES.flatMap((family) => EVENT_KINDS.map((kind) => `${family}.${kind}`));
/** Says that something on a website changed. It never contains the changed data. */
export const EventReceipt = named('EventReceipt', z.strictObject({
    event_id: z
        .string()
        .regex(/^evt_[a-f0-9]{64}$/)
        .describe('Id of the event. An event that is delivered twice has the same id both times. Use the id to drop duplicates.'),
    event_type: z
        .enum(ALL_TYPES)
        .describe('Type of the event. A type has two parts: the event family and the kind of change.'),
    website_id: WebsiteId.describe('Id of the website on which the change happened.'),
    cursor: z.int().min(1).describe('Position of the event in the journal of the website.'),
    occurred_at: z.int().describe('Time at which the change happened, in Unix milliseconds.'),
    recorded_at: z.int().describe('Time at which the journal recorded the change, in Unix milliseconds.'),
}));
export const EventPageView = named('EventPage', z.strictObject({
    subscription_id: SubscriptionId,
    revision: z.int().min(1).describe('Revision of the subscription at the time of this pull.'),
    events: z
        .array(EventReceipt)
        .max(100)
        .describe('Receipts of changes. Receipts of one website are in order. Receipts of different websites have no common order.'),
    next_cursor: example('eyJ2IjoyfQ.c2lnbmF0dXJl', EventCursor.describe('Cursor of the next page. Store this cursor, and send it as after in the next pull.')),
    has_more: example(false, z.boolean().describe('True if more receipts wait. Pull again while the value is true, even if events is empty.')),
    retention: z
        .array(z.strictObject({
        website_id: WebsiteId,
        retained_from: z
            .int()
            .min(1)
            .describe('Oldest position in the journal of the website. If the journal is empty, the position of the next event.'),
        accepted_cursor: z
            .int()
            .min(0)
            .describe('Position in the journal of the website. The reader has accepted all events up to this position.'),
    }))
        .max(50)
        .describe('For each website: the oldest position in the journal, and the position that the reader has reached.'),
    coverage: z
        .array(z.strictObject({
        website_id: WebsiteId,
        coverage: z
            .enum(['stored_events_only', 'unreported'])
            .describe('Coverage of the website. stored_events_only: the journal has stored events of these families. unreported: the journal has never stored such an event.'),
    }))
        .max(50)
        .describe('For each website: whether its journal has ever stored an event of the subscribed families.'),
}));
//# sourceMappingURL=event.js.map