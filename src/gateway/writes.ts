import { createHmac, randomUUID } from 'node:crypto';
import { stringify } from 'safe-stable-stringify';
import { isRestricted } from '../core/authority.ts';
import { native } from '../core/ids.ts';
import { Lanes } from '../core/lanes.ts';
import type { Tool } from '../core/tool.ts';
import type { RemoteCommand, RemoteWriter, Write } from '../core/writes.ts';
import type { Caller } from '../store/calls/caller.ts';
import type { Proved } from '../store/calls/guard.ts';
import { type Entry, enter, type Keyed, type Kind, LEASE, settle } from '../store/calls/ledger.ts';
import type { WebsiteAccess } from '../store/calls/read.ts';
import type { Database } from '../store/driver/postgres.ts';
import { type OperationState, resultOf } from './outcomes.ts';

export interface WriteCall {
  readonly caller: Caller;
  readonly access: WebsiteAccess;
  readonly tool: Tool;
  /** The Idempotency-Key. `undefined`: the operation accepts no key, or the caller left out an optional key. */
  readonly key: string | undefined;
  /** The revision in If-Match. `undefined` means that the operation does not require If-Match. */
  readonly ifMatch: number | undefined;
  /** The Origin header. `undefined` means that the operation does not require Origin. */
  readonly origin: string | undefined;
  readonly input: Readonly<Record<string, unknown>>;
}

/**
 * Milliseconds that a command waits in a lane without progress. A request takes at most 3 s, and the rest is for the
 * statement (store/open/open.ts).
 */
const PATIENCE = 1_000;

/**
 * Enters commands into the ledger of writes, so that each command happens once for its Idempotency-Key. The platform's
 * own writer runs inside the ledger's statement. A remote writer runs between the reservation and the settlement of the
 * command. If the answer of a remote writer does not arrive, the outcome is unknown. The upkeep later asks the other
 * system for the outcome.
 */
export class Ledger {
  readonly #db: Database;
  readonly #remote: RemoteWriter | undefined;
  readonly #lanes: Lanes<{ readonly kind: Kind; readonly keyed: Keyed }, Proved<Entry>>;
  readonly #secret: () => Promise<Uint8Array>;

  /** `writers` has one Database for each concurrent write. `secret` returns the store's own key. */
  constructor(writers: readonly [Database, ...Database[]], secret: () => Promise<Uint8Array>, remote?: RemoteWriter) {
    [this.#db] = writers;
    this.#secret = secret;
    this.#remote = remote;
    this.#lanes = new Lanes({
      run: async (items, slot) => {
        const [first] = items;
        const keyed = items.map((item) => item.keyed);
        return first ? enter(writers[slot] ?? this.#db, first.kind, keyed) : [];
      },
      slots: writers.length,
      patience: PATIENCE,
    });
  }

  /** Performs the command of one call. `state` receives the operation as soon as the ledger has answered. */
  async perform<C extends Readonly<Record<string, unknown>>, R>(
    call: WriteCall,
    { name, about, command: schema, result }: Write<C, R>,
    given: C,
    state: (operation: OperationState) => void,
  ): Promise<R> {
    const { caller, access, tool, key } = call;
    if (key === undefined) throw new Error(`${tool.name} writes to the ledger, so it must require an Idempotency-Key`);
    const { operationId, fingerprint } = operationOf(await this.#secret(), call, key);
    // A command without an author only computes a result, so it never runs in another system.
    const remote = tool.author ? this.#remote : undefined;
    const { authority, website } = access;
    const [member, view] = about;
    const members = schema.parse(given);
    const id = String(members[member]);
    const command = { ...members, operation: name, [member]: native(id) };
    const keyed = { by: access, operationId, attempt: randomUUID(), fingerprint, command, about: { view, id } };
    const kind = { operation: name, authored: tool.author, receipts: tool.emits, remote: remote !== undefined };
    // One check covers the visible data of all callers in a batch. Therefore each restricted credential has a separate
    // lane.
    const own = isRestricted(authority) ? ` ${authority.credentialId} ${authority.revision}` : '';
    const lane = `${website.id} ${name}${own}`;
    const queue = { lane, group: website.id, app: authority.appId };
    let entry = await caller.take(this.#lanes.add(queue, { kind, keyed }));
    if (entry.state === 'reserved' && remote) {
      const work = { operationId, website: website.id, author: entry.author, command };
      const { epoch } = entry;
      entry = await this.#perform(remote, work, { epoch, attempt: keyed.attempt, receipts: tool.emits });
    }
    return result.parse(resultOf(entry, operationId, state));
  }

  /** Performs a remote command and settles it under the epoch that this replica holds. */
  async #perform(
    remote: RemoteWriter,
    work: RemoteCommand,
    held: { readonly epoch: number; readonly attempt: string; readonly receipts: readonly string[] },
  ): Promise<Entry> {
    // Keep the last two seconds of the lease for the settlement of the command.
    const signal = AbortSignal.timeout(LEASE - 2_000);
    // Do not wait for a writer that ignores the signal.
    const late = new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null), { once: true }));
    const performed = Promise.resolve()
      .then(() => remote.perform(work, signal))
      .catch(() => null);
    const outcome = await Promise.race([performed, late]);
    const settled = await settle(this.#db, { operationId: work.operationId, ...held }, outcome).catch(() => false);
    // If the settlement is too late, another replica has taken over the command. The other replica then decides the
    // outcome.
    return settled && outcome ? { state: 'new', outcome } : { state: 'unknown' };
  }
}

/** Returns the ledger key of a call. Two calls with the same id are one command if their fingerprints are equal. */
export function operationOf(
  secret: Uint8Array,
  call: WriteCall,
  key: string,
): Pick<Keyed, 'operationId' | 'fingerprint'> {
  const { caller, tool, input } = call;
  const { credentialId, revision } = caller.authority;
  return {
    // Credential id, tool name and key contain no space, so the joined text is unambiguous.
    operationId: `op_${hmac(secret, `${credentialId} ${tool.name} ${key}`).toString('hex')}`,
    // Canonical JSON (RFC 8785) makes the order of members irrelevant. Use HMAC, because an attacker could guess a
    // short text from a plain digest.
    fingerprint: hmac(secret, stringify({ input, revision, if_match: call.ifMatch }) ?? ''),
  };
}

const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest();
