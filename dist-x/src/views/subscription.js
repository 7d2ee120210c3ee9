import { z } from 'zod';
import { accepts, expectedText } from '../core/accepted-values.js';
import { EVENT_FAMILIES, EVENT_KINDS, EVENT_TYPE, } from '../core/events.js';
import { example } from '../core/example.js';
import { AFTER_EXPECTED } from '../core/failures.js';
import { SubscriptionId, WebsiteId } from '../core/ids.js';
import { named } from '../core/json-schema.js';
import { ServiceText } from '../core/texts.js';
export const unique = (members, max) => accepts(z
    .array(members)
    .min(1)
    .max(max)
    .refine((all) => new Set(all).size === all.length)
    .meta({ uniqueItems: true }), `an array of 1 to ${max} different values, each ${expectedText(members)}`);
const FAMILIES = EVENT_FAMILIES.join(', ');
const KINDS = `${EVENT_KINDS.join(', ')} or *`;
const EventType = accepts(z.string().regex(EVENT_TYPE), `an event type such as conversation.*: a family (${FAMILIES}), a dot and a kind (${KINDS})`);
/** A whole definition, as the body of create and replace. */
export const Definition = {
    website_ids: example(['web_1_1'], unique(WebsiteId, 50).describe('Ids of 1 to 50 granted websites.')),
    event_types: named('EventTypes', example(['conversation.*', 'privacy.*'], unique(EventType, 35).describe(`Event types such as conversation.*, with families ${FAMILIES} and kinds ${KINDS}. A type has a family and a kind. The kind * means every kind of the family.`))),
    payload_mode: z
        .literal('thin')
        .describe('Always thin. A thin receipt says that something changed, and never what changed.'),
    delivery: named('SubscriptionDelivery', z
        .strictObject({ mode: z.literal('pull').describe('Always pull. In this mode the client asks for the receipts.') })
        .describe('Delivery mode. The mode says how receipts reach the client.')),
    start: named('SubscriptionStart', z
        .enum(['beginning', 'retained', 'now'])
        .describe('Where reading starts: beginning of the journal, oldest retained receipt, or now: behind the newest. If old receipts are deleted already, a pull from the beginning fails with replay_expired.')),
};
/** The members that clients can choose. All others have a fixed value. */
export const definitionOf = ({ website_ids, event_types, start }) => ({
    website_ids,
    event_types,
    start,
});
const moment = (what) => z.int().describe(`${what} The unit is Unix milliseconds.`);
export const SubscriptionView = named('Subscription', z
    .strictObject({
    subscription_id: SubscriptionId,
    revision: z
        .int()
        .min(1)
        .describe('Revision of the subscription. Each replacement adds 1. Send the revision in If-Match.'),
    status: z
        .enum(['active', 'paused'])
        .describe('Status of the subscription. active: pulls work. paused: the operator of the gateway holds back an event family, and pulls fail with status 503.'),
    ...Definition,
    created_at: moment('Time at which the subscription was created.'),
    updated_at: moment('Time of the last replacement of the subscription.'),
})
    .describe('An event subscription.'));
export const EventCursor = example('eyJ2IjoxfQ.c2lnbmF0dXJl', accepts(ServiceText.max(12_000), AFTER_EXPECTED).describe('Cursor of a pull. Send the cursor unchanged.'));
export const subscribed = z.strictObject({
    subscription: SubscriptionView,
    cursor: EventCursor.describe('Cursor for the first pull. Send this cursor as after.'),
});
export const pathOf = (subscription) => `/api/v1/subscriptions/${subscription.subscription_id}`;
//# sourceMappingURL=subscription.js.map