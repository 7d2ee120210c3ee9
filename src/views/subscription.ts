import { z } from 'zod';
import { EVENT_TYPE, type Subscription, type SubscriptionDefinition } from '../core/events.ts';
import { SubscriptionId, WebsiteId } from '../core/ids.ts';
import { ServiceText } from '../core/texts.ts';

const unique = <S extends z.ZodType<string>>(members: S, max: number) =>
  z
    .array(members)
    .min(1)
    .max(max)
    .refine((all) => new Set(all).size === all.length)
    .meta({ uniqueItems: true });

/** A whole subscription definition, as the body of the create and replace operations. */
export const Definition = {
  website_ids: unique(WebsiteId, 50).describe('Granted websites, 1 to 50.'),
  event_types: unique(z.string().regex(EVENT_TYPE), 35).describe(
    'Event types, such as privacy.removed or conversation.*.',
  ),
  payload_mode: z.literal('thin').describe('Always thin: receipts only.'),
  delivery: z.strictObject({ mode: z.literal('pull').describe('Always pull.') }).describe('Delivery mode.'),
  start: z
    .enum(['beginning', 'retained'])
    .describe('beginning: start of the journal; retained: oldest stored receipt.'),
};

/** Returns the members of a definition that clients can choose. All other members have a fixed value. */
export const definitionOf = ({ website_ids, event_types, start }: SubscriptionDefinition): SubscriptionDefinition => ({
  website_ids,
  event_types,
  start,
});

const moment = (what: string) => z.int().describe(`${what} Unix milliseconds.`);

export const SubscriptionView: z.ZodType<Subscription, Subscription> = z
  .strictObject({
    subscription_id: SubscriptionId,
    revision: z.int().min(1).describe('Revision; each replacement raises it by one. Pass it as If-Match.'),
    status: z
      .enum(['active', 'paused'])
      .describe('active, or paused: a family is held on one of the websites, and pulls answer 503.'),
    ...Definition,
    created_at: moment('When the subscription was created.'),
    updated_at: moment('When the subscription was last replaced.'),
  })
  .describe('A subscription.');

export const EventCursor = ServiceText.max(12_000).describe('Opaque cursor; pass it unchanged.');

export const subscribed = z.strictObject({
  subscription: SubscriptionView,
  cursor: EventCursor.describe('Cursor for the first pull: pass it as after.'),
});

export const pathOf = (subscription: Subscription): string => `/api/v1/subscriptions/${subscription.subscription_id}`;
