/** Families of event types. Each family has one event type for each kind, such as `conversation.changed`. */
export const EVENT_FAMILIES = [
  'conversation',
  'visitor',
  'operator',
  'queue',
  'website',
  'privacy',
  'capture',
] as const;
export const EVENT_KINDS = ['changed', 'removed', 'snapshot', 'gap', 'heartbeat'] as const;

/** Matches an exact event type, or the wildcard of a family such as `conversation.*`. */
export const EVENT_TYPE = new RegExp(`^(?:${EVENT_FAMILIES.join('|')})\\.(?:${EVENT_KINDS.join('|')}|\\*)$`);

/** Returns the family of an event type: `conversation` for `conversation.changed` and for `conversation.*`. */
export const familyOf = (eventType: string): string => eventType.slice(0, eventType.indexOf('.'));

/** Returns a filter. The filter accepts an exact event type that `eventTypes` names or covers with a wildcard. */
export function wanting(eventTypes: readonly string[]): (eventType: string) => boolean {
  const asked = new Set(eventTypes);
  return (eventType) => asked.has(eventType) || asked.has(`${familyOf(eventType)}.*`);
}

/** The definition of a subscription, which says what to deliver. The replace operation takes the whole definition. */
export interface SubscriptionDefinition {
  readonly website_ids: readonly string[];
  readonly event_types: readonly string[];
  readonly start: 'beginning' | 'retained';
}

export interface Subscription extends SubscriptionDefinition {
  readonly subscription_id: string;
  /** Revision of the subscription. The first revision is 1, and each replacement adds 1. */
  readonly revision: number;
  /** A subscription is `paused` while one of its event families is held on one of its websites. Pulls then fail. */
  readonly status: 'active' | 'paused';
  readonly payload_mode: 'thin';
  readonly delivery: { readonly mode: 'pull' };
  /** The time when the subscription was created, in Unix milliseconds. */
  readonly created_at: number;
  readonly updated_at: number;
}

/** A subscription after a write, and the cursor for its first pull. */
export interface Subscribed {
  readonly subscription: Subscription;
  readonly cursor: string;
}

export interface EventReceipt {
  readonly event_id: string;
  readonly event_type: string;
  readonly website_id: string;
  /** Position of the receipt in the journal of its website. */
  readonly cursor: number;
  /** The time when the event occurred, in Unix milliseconds. */
  readonly occurred_at: number;
  readonly recorded_at: number;
}

export interface EventPage {
  readonly subscription_id: string;
  readonly revision: number;
  readonly events: readonly EventReceipt[];
  readonly next_cursor: string;
  /** True when the journal has more receipts after this page. An empty page can have `has_more` true. */
  readonly has_more: boolean;
  /** For each website: the oldest stored position, and the position up to which `after` has accepted events. */
  readonly retention: readonly {
    readonly website_id: string;
    readonly retained_from: number;
    readonly accepted_cursor: number;
  }[];
  /** `unreported` means that the journal of the website has no event of the requested families yet. */
  readonly coverage: readonly { readonly website_id: string; readonly coverage: 'stored_events_only' | 'unreported' }[];
}

export interface PullRequest {
  readonly subscription: string;
  /** The cursor of the previous page. The cursor for the first pull comes from the create or replace operation. */
  readonly after: string;
  /** Largest number of events on the page, 1 to 100. */
  readonly limit: number;
}

/** Reads of subscriptions. A subscription is not found if one of its websites is not granted. */
export interface SubscriptionReads {
  /** Returns all subscriptions of the caller, oldest first. */
  subscriptions(): Promise<Subscription[]>;
  subscription(id: string): Promise<Subscription>;
  pull(request: PullRequest): Promise<EventPage>;
}

/** Writes of subscriptions. The revision in If-Match and the Idempotency-Key come from the call. */
export interface SubscriptionWrites {
  createSubscription(definition: SubscriptionDefinition): Promise<Subscribed>;
  replaceSubscription(id: string, definition: SubscriptionDefinition): Promise<Subscribed>;
  deleteSubscription(id: string): Promise<void>;
}
