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

/** Matches an exact event type or a wildcard for a family, such as `conversation.*`. */
export const EVENT_TYPE = new RegExp(`^(?:${EVENT_FAMILIES.join('|')})\\.(?:${EVENT_KINDS.join('|')}|\\*)$`);

/** An event for webhooks only: a write waits for an approval. It is no change of a record, so no journal has it. */
export const APPROVAL_REQUESTED = 'approval.requested';

export const familyOf = (eventType: string): string => eventType.slice(0, eventType.indexOf('.'));

/** The filter accepts a type that is in `eventTypes`, or whose family's wildcard is there. */
export function wanting(eventTypes: readonly string[]): (eventType: string) => boolean {
  const asked = new Set(eventTypes);
  return (eventType) => asked.has(eventType) || asked.has(`${familyOf(eventType)}.*`);
}

export interface SubscriptionDefinition {
  readonly website_ids: readonly string[];
  readonly event_types: readonly string[];
  readonly start: 'beginning' | 'retained' | 'now';
}

export interface Subscription extends SubscriptionDefinition {
  readonly subscription_id: string;
  readonly revision: number;
  /** `paused`: an event family of the subscription is paused on one of its websites. A pull then fails. */
  readonly status: 'active' | 'paused';
  readonly payload_mode: 'thin';
  readonly delivery: { readonly mode: 'pull' };
  /** Unix milliseconds. */
  readonly created_at: number;
  readonly updated_at: number;
}

export interface Subscribed {
  readonly subscription: Subscription;
  readonly cursor: string;
}

export interface EventReceipt {
  readonly event_id: string;
  readonly event_type: string;
  readonly website_id: string;
  /** Position in the journal of the event's website. */
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
  /** True if the journal has more events after this page, even if the page is empty. */
  readonly has_more: boolean;
  /** By website: the first position still in the journal, and the last position that the client has received. */
  readonly retention: readonly {
    readonly website_id: string;
    readonly retained_from: number;
    readonly accepted_cursor: number;
  }[];
  /** `unreported`: the website's journal has no event of the requested families yet. */
  readonly coverage: readonly { readonly website_id: string; readonly coverage: 'stored_events_only' | 'unreported' }[];
}

export interface PullRequest {
  readonly subscription: string;
  readonly after: string;
  /** From 1 to 100. */
  readonly limit: number;
}

/** A credential finds a subscription only if it has a grant for each of the subscription's websites. */
export interface SubscriptionReads {
  subscriptions(): Promise<Subscription[]>;
  subscription(id: string): Promise<Subscription>;
  pull(request: PullRequest): Promise<EventPage>;
}

export interface SubscriptionWrites {
  createSubscription(definition: SubscriptionDefinition): Promise<Subscribed>;
  replaceSubscription(id: string, definition: SubscriptionDefinition): Promise<Subscribed>;
  deleteSubscription(id: string): Promise<void>;
}
