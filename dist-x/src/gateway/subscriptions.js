import { randomBytes } from 'node:crypto';
import { Failure } from '../core/failures.js';
import { writeCursor } from '../events/cursors.js';
import { pullPage } from '../events/pull.js';
import { readSubscription, readSubscriptions, storedSubscription, writeSubscription, } from '../store/events/subscriptions.js';
import { resultOf } from './outcomes.js';
import { noteInserted, operationOf } from './writes.js';
export class Subscriptions {
    #writer;
    #keys;
    #secret;
    /** `writer`: connections for statements that can wait for row locks. `secret` reads the store's own key. */
    constructor(writer, keys, secret) {
        this.#writer = writer;
        this.#keys = keys;
        this.#secret = secret;
    }
    reads(caller, access) {
        const { authority } = access;
        return {
            subscriptions: async () => (await caller.take(readSubscriptions(access))).map((one) => subscriptionOf(authority, one)),
            subscription: async (id) => subscriptionOf(authority, await caller.take(readSubscription(access, id))),
            pull: (request) => caller.take(pullPage({ access, keys: this.#keys, eventKey: this.#secret }, request)),
        };
    }
    writes(call, state) {
        const { authority } = call.caller;
        const run = async (command) => this.#run(call, command, state);
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
    async #run(call, command, state) {
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
    #subscribed(authority, done) {
        const row = storedSubscription(done);
        if (row instanceof Failure)
            throw row;
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
/** The definition with native website numbers. Throws `not_found` for a website that is not granted. */
function storedForm(authority, { website_ids, event_types, start }) {
    const sites = website_ids.map((id) => {
        const website = authority.websites.get(id);
        if (!website)
            throw new Failure('not_found', { outside: true });
        return website.site;
    });
    return { sites, event_types, start };
}
function subscriptionOf(authority, row) {
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
//# sourceMappingURL=subscriptions.js.map