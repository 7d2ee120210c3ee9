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

export const familyOf = (eventType: string): string => eventType.slice(0, eventType.indexOf('.'));

/** Returns a filter. The filter accepts a type if `eventTypes` has the type or the wildcard of its family. */
export function wanting(eventTypes: readonly string[]): (eventType: string) => boolean {
  const asked = new Set(eventTypes);
  return (eventType) => asked.has(eventType) || asked.has(`${familyOf(eventType)}.*`);
}

export interface SubscriptionDefinition {
  readonly website_ids: readonly string[];
  readonly event_types: readonly string[];
  readonly start: 'beginning' | 'retained';
}

export interface Subscription extends SubscriptionDefinition {
  readonly subscription_id: string;
  readonly revision: number;
  /**
   * `paused` means that an event family of the subscription is paused on a website of the subscription. A pull of a
   * paused subscription fails.
   */
  readonly status: 'active' | 'paused';
  readonly payload_mode: 'thin';
  readonly delivery: { readonly mode: 'pull' };
  /** The time when the subscription was created, in Unix milliseconds. */
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
  /** Position of the event in the journal of its website. */
  readonly cursor: number;
  /** The time of the event in Unix milliseconds. */
  readonly occurred_at: number;
  readonly recorded_at: number;
}

export interface EventPage {
  readonly subscription_id: string;
  readonly revision: number;
  readonly events: readonly EventReceipt[];
  readonly next_cursor: string;
  /** True when the journal has more events after this page. `has_more` can be true even if the page is empty. */
  readonly has_more: boolean;
  /**
   * For each website: the first position that the journal still has (`retained_from`), and the position up to which the
   * client has received events (`accepted_cursor`).
   */
  readonly retention: readonly {
    readonly website_id: string;
    readonly retained_from: number;
    readonly accepted_cursor: number;
  }[];
  /** `unreported` means that the website's journal does not have any event of the requested families yet. */
  readonly coverage: readonly { readonly website_id: string; readonly coverage: 'stored_events_only' | 'unreported' }[];
}

export interface PullRequest {
  readonly subscription: string;
  readonly after: string;
  /** The largest number of events on the page, from 1 to 100. */
  readonly limit: number;
}

/**
 * The read operations of event subscriptions. A subscription is not found if the credential has no grant for one of the
 * subscription's websites.
 */
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
