import { createHmac, randomUUID } from 'node:crypto';
import { stringify } from 'safe-stable-stringify';
import { isRestricted } from '../core/authority.js';
import { native } from '../core/ids.js';
import { BatchQueues } from '../flow/batch-queues.js';
import { enter, LEASE, settle } from '../store/calls/ledger.js';
import { AwaitsApproval, resultOf } from './outcomes.js';
/** How long (ms) a command waits for its turn. The statement needs the rest of the 3 s of a request. */
const PATIENCE = 1_000;
/**
 * Performs each command once for its Idempotency-Key, with the ledger of writes. A write to the gateway's own database
 * is part of the ledger's statement. For a remote writer, the ledger first reserves the command and then stores the
 * outcome. If the remote writer does not answer, the outcome is unknown, and upkeep.ts asks later.
 */
export class Ledger {
    #db;
    #remote;
    #batches;
    #secret;
    /** `writers`: one Database for each concurrent batch of writes. `secret` returns the store's own key. */
    constructor(writers, secret, remote) {
        [this.#db] = writers;
        this.#secret = secret;
        this.#remote = remote;
        this.#batches = new BatchQueues({
            run: async (items, slot) => {
                const [first] = items;
                const keyed = items.map((item) => item.keyed);
                return first ? enter(writers[slot] ?? this.#db, first.kind, keyed) : [];
            },
            slots: writers.length,
            patience: PATIENCE,
        });
    }
    async perform(call, write, given, state) {
        const { caller, access, tool, key } = call;
        const { name, about, result } = write;
        if (key === undefined)
            throw new Error(`${tool.name} writes to the ledger, so it must require an Idempotency-Key`);
        const { operationId, fingerprint } = operationOf(await this.#secret(), call, key);
        // A command without an author only computes a result, so it never goes to another system.
        const remote = tool.author ? this.#remote : undefined;
        const { authority, website } = access;
        const [member, view] = about;
        const id = String(given[member]);
        const command = { ...given, operation: name, [member]: native(id) };
        const draft = call.draft?.(operationId);
        const keyed = { by: access, operationId, attempt: randomUUID(), fingerprint, command, about: { view, id }, draft };
        const kind = { write, authored: tool.author, receipts: tool.emits, remote: reservesFor(remote) };
        // All commands of a batch share one check of what their callers can see. So each restricted credential has a
        // separate queue.
        const own = isRestricted(authority) ? ` ${authority.credentialId} ${authority.revision}` : '';
        const queue = `${website.id} ${name}${own}`;
        const batchQueue = { queue, group: website.id, app: authority.appId };
        let entry = await caller.take(this.#batches.add(batchQueue, { kind, keyed }));
        if (entry.state === 'reserved' && remote) {
            const work = { operationId, website: website.id, author: entry.author, command };
            const { epoch } = entry;
            entry = await performReserved(this.#db, remote, work, { epoch, attempt: keyed.attempt, receipts: tool.emits });
        }
        noteInserted(draft, entry);
        if (entry.state === 'asked' || entry.state === 'waiting') {
            state({ id: operationId, replayed: entry.state === 'waiting' });
            throw new AwaitsApproval({ operation_id: operationId, website_id: website.id, operation: name });
        }
        return result.parse(resultOf(entry, operationId, state));
    }
    /** The ids that a credential's commands with this key can have, one for each operation. */
    async idsOf(credential, operations, key) {
        const secret = await this.#secret();
        return operations.map((name) => idOf(secret, credential, name, key));
    }
}
export const reservesFor = (remote) => remote?.onlySources === true ? 'sources' : remote !== undefined;
/**
 * Performs a reserved command in another system and stores its outcome. `epoch` proves that this process owns the
 * command.
 */
export async function performReserved(db, remote, work, held) {
    // Keep two seconds of the lease to store the outcome.
    const signal = AbortSignal.timeout(LEASE - 2_000);
    // A remote writer can ignore the signal, so `late` ends the wait.
    const late = new Promise((resolve) => signal.addEventListener('abort', () => resolve(null), { once: true }));
    const performed = Promise.resolve()
        .then(() => remote.perform(work, signal))
        .catch(() => null);
    const outcome = await Promise.race([performed, late]);
    const settled = await settle(db, { operationId: work.operationId, ...held }, outcome).catch(() => false);
    // Too late: another replica has taken the command over and decides its outcome.
    return settled && outcome ? { state: 'new', outcome } : { state: 'unknown' };
}
/** Notes that the transaction of a write has inserted its audit record, as gateway.audit_writes does. */
export function noteInserted(draft, entry) {
    const stored = entry.state === 'asked' || (entry.state === 'new' && !('refused' in entry.outcome));
    if (draft && stored)
        draft.inserted = true;
}
/** A command's id and the fingerprint of its input. A repeated call has the same ones. */
export function operationOf(secret, call, key) {
    const { caller, tool, input } = call;
    const { credentialId, revision } = caller.authority;
    return {
        // None of the parts contains a space, so different parts never join to the same text.
        operationId: idOf(secret, credentialId, tool.name, key),
        // Canonical JSON (RFC 8785) has one order of members. An attacker could guess a short text from a plain digest, but
        // not from an HMAC.
        fingerprint: hmac(secret, stringify({ input, revision, if_match: call.ifMatch }) ?? ''),
    };
}
const idOf = (secret, credential, operation, key) => `op_${hmac(secret, `${credential} ${operation} ${key}`).toString('hex')}`;
const hmac = (key, text) => createHmac('sha256', key).update(text).digest();
//# sourceMappingURL=writes.js.map