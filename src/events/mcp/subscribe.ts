import { createHash, createHmac } from 'node:crypto';
import type { Authority } from '../../core/authority.ts';
import { receiverOf } from '../../outbound/receivers.ts';
import type { SealKeys } from '../../outbound/signature.ts';
import type { Caller } from '../../store/calls/caller.ts';
import {
  type McpDeliveryStatus,
  type NewMcpSubscription,
  subscribeMcp,
  unsubscribeMcp,
} from '../../store/events/mcp-subscriptions.ts';
import { type Challenged, type DeliveryProblem, problemOf } from './challenge.ts';
import { canonical, cursorsOf, type EventsWanted, filterOf, websitesOf } from './definition.ts';
import type { PollContext } from './poll.ts';
import { type EventsRefusal, refused } from './refusals.ts';

export interface SubscribeContext extends PollContext {
  readonly keys: PollContext['keys'] & Pick<SealKeys, 'seal'>;
  readonly allowed: ReadonlySet<string>;
  readonly challenge: (challenged: Challenged) => Promise<EventsRefusal | undefined>;
}

/** Names a subscription. The client's identity is the fourth part of its name. */
export interface SubscriptionKey extends EventsWanted {
  readonly url: string;
}

export interface SubscribeRequest extends SubscriptionKey {
  /** `whsec_` and the base64 of 24 to 64 bytes, made by the client. */
  readonly secret: string;
  /** Null: from now on. */
  readonly cursor: string | null;
  readonly maxAgeMs: number | undefined;
  /** Null: as long as possible. Undefined: the default. */
  readonly ttlMs: number | null | undefined;
}

export interface McpSubscription {
  readonly id: string;
  /** ISO 8601. */
  readonly refreshBefore: string;
  readonly cursor: string;
  readonly truncated: boolean;
  readonly deliveryStatus?: McpDelivery;
}

interface McpDelivery {
  readonly active: boolean;
  readonly lastDeliveryAt: string | null;
  readonly lastError: DeliveryProblem | null;
  readonly failedSince?: string;
}

/** Seconds. */
const TTL = { default: 3_600, min: 60, max: 86_400 };
/** Seconds. The journal keeps receipts for a shorter time, and PostgreSQL has no time 200,000 years ago. */
const MAX_AGE = 365 * 86_400;
const SUBSCRIPTIONS = 20;
const SECRET = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;

/**
 * Makes a subscription, or refreshes the one with the same client, address, event and arguments. Before the first
 * delivery to an address, its receiver must confirm.
 */
export async function subscribe(
  context: SubscribeContext,
  caller: Caller,
  request: SubscribeRequest,
): Promise<McpSubscription | EventsRefusal> {
  const { db, keys } = context;
  const { authority } = caller;
  const url = addressOf(context, request);
  if ('refused' in url) return url;
  const bytes = Buffer.from(SECRET.exec(request.secret)?.[1] ?? '', 'base64').length;
  if (bytes < 24 || bytes > 64) return refused('InvalidParams', { secret: 'whsec_ and the base64 of 24 to 64 bytes' });
  const cursors = cursorsOf(keys, authority, request);
  const known = request.cursor === null ? new Map<string, number>() : cursors.read(request.cursor);
  if (!known) return refused('InvalidParams', { cursor: 'the cursor of the last answer for this event, unchanged' });
  const websites = websitesOf(authority, request);
  if ('refused' in websites) return websites;

  const id = idOf(authority, url, request);
  const { tenant, sites, eventTypes } = filterOf(websites, request);
  const subscription: NewMcpSubscription = {
    id,
    url: url.href,
    name: request.name,
    arguments: request.arguments,
    tenant,
    sites,
    event_types: eventTypes,
    secret: keys.seal('webhook secret', request.secret),
    secret_tag: createHmac('sha256', await context.eventKey())
      .update(`mcp ${request.secret}`)
      .digest('hex'),
    ttl: ttlOf(request.ttlMs),
    positions: Object.fromEntries(
      websites.flatMap((website) => {
        const position = known.get(website.id);
        return position === undefined ? [] : [[website.site, position]];
      }),
    ),
    resumes: request.cursor !== null,
    max_age: request.maxAgeMs === undefined ? null : Math.min(request.maxAgeMs / 1000, MAX_AGE),
    verified: false,
  };
  const store = (verified: boolean) => caller.take(subscribeMcp({ authority, db }, { ...subscription, verified }));
  let answer = await store(false);
  if ('state' in answer && answer.state === 'unverified') {
    const { secret } = request;
    const problem = await context.challenge({ subscription: id, url, secret, app: authority.appId, at: answer.at });
    if (problem) return problem;
    answer = await store(true);
  }
  if ('refused' in answer) return refused('ResourceExhausted', { limit: 'subscriptions', max: SUBSCRIPTIONS });
  if (answer.state === 'unverified') throw new Error('the store asks for a second challenge');
  return {
    id,
    refreshBefore: new Date(answer.expires_at).toISOString(),
    cursor: cursors.write(new Map(Object.entries(answer.positions))),
    truncated: answer.truncated,
    ...(answer.status && { deliveryStatus: statusOf(answer.status) }),
  };
}

export async function unsubscribe(
  context: SubscribeContext,
  caller: Caller,
  request: SubscriptionKey,
): Promise<EventsRefusal | undefined> {
  const { authority } = caller;
  const url = addressOf(context, request);
  if ('refused' in url) return url;
  const found = await caller.take(unsubscribeMcp({ authority, db: context.db }, idOf(authority, url, request)));
  return found ? undefined : refused('NotFound', { kind: 'subscription' });
}

function addressOf({ allowed }: SubscribeContext, { url }: SubscriptionKey): URL | EventsRefusal {
  const receiver = receiverOf(url, allowed);
  return 'refused' in receiver ? refused('InvalidParams', { url: receiver.refused }) : receiver.url;
}

/** The same client, address, event and arguments have the same id. A client by URL is known by its consent. */
function idOf({ credentialId, consentId }: Authority, url: URL, wanted: EventsWanted): string {
  const key = JSON.stringify([consentId ?? credentialId, url.href, canonical(wanted)]);
  return `sub_${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
}

const ttlOf = (ttlMs: number | null | undefined): number =>
  ttlMs === undefined ? TTL.default : Math.min(TTL.max, Math.max(TTL.min, Math.ceil((ttlMs ?? Infinity) / 1000)));

const iso = (at: number): string => new Date(at).toISOString();

const statusOf = (stored: McpDeliveryStatus): McpDelivery => ({
  active: stored.active,
  lastDeliveryAt: stored.last_delivery_at === null ? null : iso(stored.last_delivery_at),
  lastError: stored.failing_since === null ? null : (problemOf(stored) ?? null),
  ...(stored.failing_since !== null && { failedSince: iso(stored.failing_since) }),
});
