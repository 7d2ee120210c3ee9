/** Event types (contract, Events): seven families of five types each. */
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

/** An exact type, or the wildcard of a family such as `conversation.*`. */
export const EVENT_TYPE = new RegExp(`^(?:${EVENT_FAMILIES.join('|')})\\.(?:${EVENT_KINDS.join('|')}|\\*)$`);

/** `conversation` of `conversation.changed` and of `conversation.*`. */
export const familyOf = (eventType: string): string => eventType.slice(0, eventType.indexOf('.'));

/** Whether one of these types asks for an exact type: itself, or the wildcard of its family. */
export function wanting(eventTypes: readonly string[]): (eventType: string) => boolean {
  const asked = new Set(eventTypes);
  return (eventType) => asked.has(eventType) || asked.has(`${familyOf(eventType)}.*`);
}

/** What a subscription asks for; the replace operation takes the whole of it. */
export interface SubscriptionDefinition {
  readonly website_ids: readonly string[];
  readonly event_types: readonly string[];
  readonly start: 'beginning' | 'retained';
}

export interface Subscription extends SubscriptionDefinition {
  readonly subscription_id: string;
  /** At least 1, one more with each replacement. */
  readonly revision: number;
  /** paused: one of its families is held on one of its websites, so that pulls are refused. */
  readonly status: 'active' | 'paused';
  readonly payload_mode: 'thin';
  readonly delivery: { readonly mode: 'pull' };
  /** Unix milliseconds. */
  readonly created_at: number;
  readonly updated_at: number;
}

/** A subscription as a write leaves it, and the cursor that its first pull begins with. */
export interface Subscribed {
  readonly subscription: Subscription;
  readonly cursor: string;
}

export interface EventReceipt {
  readonly event_id: string;
  readonly event_type: string;
  readonly website_id: string;
  /** Position within the website's journal. */
  readonly cursor: number;
  /** Unix milliseconds. */
  readonly occurred_at: number;
  readonly recorded_at: number;
}

export interface EventPage {
  readonly subscription_id: string;
  readonly revision: number;
  readonly events: readonly EventReceipt[];
  readonly next_cursor: string;
  /** More is stored behind the page, also where the page is empty. */
  readonly has_more: boolean;
  /** A website each: the oldest position still stored, and the position up to which `after` has taken it. */
  readonly retention: readonly {
    readonly website_id: string;
    readonly retained_from: number;
    readonly accepted_cursor: number;
  }[];
  /** unreported: no event of the families asked for has been recorded on the website yet. */
  readonly coverage: readonly { readonly website_id: string; readonly coverage: 'stored_events_only' | 'unreported' }[];
}

export interface PullRequest {
  readonly subscription: string;
  /** The cursor of the page before, or of the write that made the subscription. */
  readonly after: string;
  /** 1 to 100. */
  readonly limit: number;
}

/** What a handler may ask of subscriptions; of those that name a website which is not granted it finds none. */
export interface SubscriptionReads {
  /** In order of creation. */
  subscriptions(): Promise<Subscription[]>;
  subscription(id: string): Promise<Subscription>;
  pull(request: PullRequest): Promise<EventPage>;
}

/** Writes of subscriptions; the revision that If-Match names and an Idempotency-Key are the call's own. */
export interface SubscriptionWrites {
  createSubscription(definition: SubscriptionDefinition): Promise<Subscribed>;
  replaceSubscription(id: string, definition: SubscriptionDefinition): Promise<Subscribed>;
  deleteSubscription(id: string): Promise<void>;
}
