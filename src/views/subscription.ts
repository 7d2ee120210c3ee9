import { z } from 'zod';
import { EVENT_TYPE, type Subscription, type SubscriptionDefinition } from '../core/events.ts';
import { SubscriptionId, WebsiteId } from '../core/ids.ts';

const unique = <S extends z.ZodType<string>>(members: S, max: number) =>
  z
    .array(members)
    .min(1)
    .max(max)
    .refine((all) => new Set(all).size === all.length)
    .meta({ uniqueItems: true });

/** Body of the operations that create and replace: the whole definition (decisions, section 12). */
export const Definition = {
  website_ids: unique(WebsiteId, 50).describe('Granted websites, 1 to 50.'),
  event_types: unique(z.string().regex(EVENT_TYPE), 35).describe('Such as privacy.removed, conversation.*.'),
  payload_mode: z.literal('thin').describe('Always thin.'),
  delivery: z.strictObject({ mode: z.literal('pull').describe('By pulling.') }).describe('Delivery mode.'),
  start: z.enum(['beginning', 'retained']).describe('beginning: position 0; retained: the oldest receipt stored.'),
};

/** The part of a body that can differ from one subscription to another. */
export const definitionOf = ({ website_ids, event_types, start }: SubscriptionDefinition): SubscriptionDefinition => ({
  website_ids,
  event_types,
  start,
});

const moment = (what: string) => z.int().describe(`${what} Unix milliseconds.`);

export const SubscriptionView: z.ZodType<Subscription, Subscription> = z
  .strictObject({
    subscription_id: SubscriptionId,
    revision: z.int().min(1).describe('Rises with each replacement; If-Match takes it.'),
    status: z.enum(['active', 'paused']).describe('paused: a family is held on one of the websites, pulls answer 503.'),
    ...Definition,
    created_at: moment('When it was created.'),
    updated_at: moment('When it was last replaced.'),
  })
  .describe('A subscription.');

export const EventCursor = z.string().max(12_000).describe('Opaque cursor; pass it on unchanged.');

/** What a write of a subscription answers. */
export const subscribed = z.strictObject({
  subscription: SubscriptionView,
  cursor: EventCursor.describe('Cursor of the first pull: pass it as after.'),
});

export const pathOf = (subscription: Subscription): string => `/api/v1/subscriptions/${subscription.subscription_id}`;
