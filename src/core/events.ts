/** Families of event types. Each family has one type for each kind, such as `conversation.changed`. */
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

/** A test whether these types select an exact type, by its name or by the wildcard of its family. */
export function wanting(eventTypes: readonly string[]): (eventType: string) => boolean {
  const asked = new Set(eventTypes);
  return (eventType) => asked.has(eventType) || asked.has(`${familyOf(eventType)}.*`);
}

/** What a subscription delivers. The replace operation takes the whole definition. */
export interface SubscriptionDefinition {
  readonly website_ids: readonly string[];
  readonly event_types: readonly string[];
  readonly start: 'beginning' | 'retained';
}

export interface Subscription extends SubscriptionDefinition {
  readonly subscription_id: string;
  /** Starts at 1. Each replacement adds 1. */
  readonly revision: number;
  /** paused: delivery of one of its families is held on one of its websites, and pulls fail. */
  readonly status: 'active' | 'paused';
  readonly payload_mode: 'thin';
  readonly delivery: { readonly mode: 'pull' };
  /** Unix milliseconds. */
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
  /** Position in the journal of the website. */
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
  /** Whether the journal holds more after this page. It can be true for an empty page. */
  readonly has_more: boolean;
  /** For each website: the oldest stored position, and the position up to which `after` has accepted events. */
  readonly retention: readonly {
    readonly website_id: string;
    readonly retained_from: number;
    readonly accepted_cursor: number;
  }[];
  /** unreported: the website has no recorded event of the requested families yet. */
  readonly coverage: readonly { readonly website_id: string; readonly coverage: 'stored_events_only' | 'unreported' }[];
}

export interface PullRequest {
  readonly subscription: string;
  /** The cursor of the previous page, or of the write that created or replaced the subscription. */
  readonly after: string;
  /** 1 to 100. */
  readonly limit: number;
}

/** Reads of subscriptions. A subscription that names a website which is not granted is not found. */
export interface SubscriptionReads {
  /** In order of creation. */
  subscriptions(): Promise<Subscription[]>;
  subscription(id: string): Promise<Subscription>;
  pull(request: PullRequest): Promise<EventPage>;
}

/** Writes of subscriptions. The If-Match revision and the Idempotency-Key come from the call. */
export interface SubscriptionWrites {
  createSubscription(definition: SubscriptionDefinition): Promise<Subscribed>;
  replaceSubscription(id: string, definition: SubscriptionDefinition): Promise<Subscribed>;
  deleteSubscription(id: string): Promise<void>;
}
