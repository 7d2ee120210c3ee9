import { randomBytes } from 'node:crypto';
import type { Authority } from '../core/authority.ts';
import type {
  Subscribed,
  Subscription,
  SubscriptionDefinition,
  SubscriptionReads,
  SubscriptionWrites,
} from '../core/events.ts';
import { Failure } from '../core/failures.ts';
import { type CursorKeys, writeCursor } from '../events/cursors.ts';
import { pullPage } from '../events/pull.ts';
import type { Caller } from '../store/calls/caller.ts';
import type { Access } from '../store/calls/guard.ts';
import type { Database } from '../store/driver/postgres.ts';
import {
  readSubscription,
  readSubscriptions,
  type StoredDefinition,
  type StoredSubscription,
  type SubscriptionCommand,
  storedSubscription,
  writeSubscription,
} from '../store/events/subscriptions.ts';
import { sitesOf } from './call-input.ts';
import { type OperationState, resultOf } from './outcomes.ts';
import { noteInserted, operationOf, type WriteCall } from './writes.ts';

export class Subscriptions {
  readonly #writer: Database;
  readonly #keys: CursorKeys;
  readonly #secret: () => Promise<Uint8Array>;

  /** `writer`: connections for statements that can wait for row locks. `secret` reads the store's own key. */
  constructor(writer: Database, keys: CursorKeys, secret: () => Promise<Uint8Array>) {
    this.#writer = writer;
    this.#keys = keys;
    this.#secret = secret;
  }

  reads(caller: Caller, access: Access): SubscriptionReads {
    const { authority } = access;
    return {
      subscriptions: async () =>
        (await caller.take(readSubscriptions(access))).map((one) => subscriptionOf(authority, one)),
      subscription: async (id) => subscriptionOf(authority, await caller.take(readSubscription(access, id))),
      pull: (request) => caller.take(pullPage({ access, keys: this.#keys, eventKey: this.#secret }, request)),
    };
  }

  writes(call: WriteCall, state: (operation: OperationState) => void): SubscriptionWrites {
    const { authority } = call.caller;
    const run = async (command: SubscriptionCommand): Promise<unknown> => this.#run(call, command, state);
    const revision = call.ifMatch ?? 0; // 0 is never used: the two operations that need the revision require If-Match
    return {
      createSubscription: async (definition) => {
        const id = `sub_${randomBytes(16).toString('hex')}`;
        const done = await run({ operation: 'subscription_create', id, ...storedForm(authority, definition) });
        return this.#subscribed(authority, done);
      },
      replaceSubscription: async (id, definition) => {
        const done = await run({
          operation: 'subscription_replace',
          id,
          revision,
          ...storedForm(authority, definition),
        });
        return this.#subscribed(authority, done);
      },
      deleteSubscription: async (id) => {
        await run({ operation: 'subscription_delete', id, revision });
      },
    };
  }

  async #run(
    call: WriteCall,
    command: SubscriptionCommand,
    state: (operation: OperationState) => void,
  ): Promise<unknown> {
    const { caller, key } = call;
    const { authority } = caller;
    const [first] = authority.websites.values();
    const operation = key === undefined ? undefined : operationOf(await this.#secret(), call, key);
    const access = { authority, db: this.#writer };
    const draft = call.draft?.(operation?.operationId);
    const entry = await caller.take(writeSubscription(access, first?.tenant ?? '0', command, operation, draft));
    noteInserted(draft, entry);
    return resultOf(entry, operation?.operationId, state);
  }

  /** A subscription with its first cursor. A repeated request gets the same cursor from the ledger. */
  #subscribed(authority: Authority, done: unknown): Subscribed {
    const row = storedSubscription(done);
    if (row instanceof Failure) throw row;
    const subscription = subscriptionOf(authority, row);
    const positions = new Map(subscription.website_ids.map((id, i) => [id, row.positions[i] ?? 0]));
    const { credentialId: credential, environment } = authority;
    return {
      subscription,
      cursor: writeCursor(this.#keys, {
        subscription: row.id,
        revision: row.revision,
        credential,
        environment,
        positions,
      }),
    };
  }
}

const storedForm = (authority: Authority, definition: SubscriptionDefinition): StoredDefinition => ({
  sites: sitesOf(authority, definition.website_ids),
  event_types: definition.event_types,
  start: definition.start,
});

function subscriptionOf(authority: Authority, row: StoredSubscription): Subscription {
  const ids = new Map([...authority.websites.values()].map(({ id, site }) => [site, id]));
  return {
    subscription_id: row.id,
    revision: row.revision,
    status: row.paused ? 'paused' : 'active',
    website_ids: row.sites.map((site) => ids.get(site) ?? ''),
    event_types: row.event_types,
    payload_mode: 'thin',
    delivery: { mode: 'pull' },
    start: row.start,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
