import { createHmac, randomUUID } from 'node:crypto';
import { stringify } from 'safe-stable-stringify';
import type { AuditDraft } from '../core/audit.ts';
import { isRestricted } from '../core/authority.ts';
import { native } from '../core/ids.ts';
import type { Tool } from '../core/tool.ts';
import type { Ending, RemoteCommand, RemoteWriter, Write } from '../core/writes.ts';
import { BatchQueues } from '../flow/batch-queues.ts';
import type { Caller } from '../store/calls/caller.ts';
import type { Proved } from '../store/calls/guard.ts';
import { type CommandKind, type Entry, enter, type Keyed, LEASE, settle } from '../store/calls/ledger.ts';
import type { WebsiteAccess } from '../store/calls/read.ts';
import type { Database } from '../store/driver/postgres.ts';
import { AwaitsApproval, type OperationState, resultOf } from './outcomes.ts';

export interface WriteCall {
  readonly caller: Caller;
  readonly access: WebsiteAccess;
  readonly tool: Tool;
  readonly key: string | undefined;
  /** The revision from If-Match. Undefined: the operation does not require If-Match. */
  readonly ifMatch: number | undefined;
  readonly origin: string | undefined;
  readonly input: Readonly<Record<string, unknown>>;
  /** Makes the draft of the write's audit record. Undefined: the write leaves none. */
  readonly draft?: ((operationId: string | undefined) => AuditDraft | undefined) | undefined;
}

/** How long (ms) a command waits for its turn. The statement needs the rest of the 3 s of a request. */
const PATIENCE = 1_000;

/**
 * Performs each command once for its Idempotency-Key, with the ledger of writes. A write to the gateway's own database
 * is part of the ledger's statement. For a remote writer, the ledger first reserves the command and then stores the
 * outcome. If the remote writer does not answer, the outcome is unknown, and upkeep.ts asks later.
 */
export class Ledger {
  readonly #db: Database;
  readonly #remote: RemoteWriter | undefined;
  readonly #batches: BatchQueues<{ readonly kind: CommandKind; readonly keyed: Keyed }, Proved<Entry>>;
  readonly #secret: () => Promise<Uint8Array>;

  /** `writers`: one Database for each concurrent batch of writes. `secret` returns the store's own key. */
  constructor(writers: readonly [Database, ...Database[]], secret: () => Promise<Uint8Array>, remote?: RemoteWriter) {
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

  async perform<C extends Readonly<Record<string, unknown>>, R>(
    call: WriteCall,
    write: Write<C, R>,
    given: C,
    state: (operation: OperationState) => void,
  ): Promise<R> {
    const { caller, access, tool, key } = call;
    const { name, about, result } = write;
    if (key === undefined) throw new Error(`${tool.name} writes to the ledger, so it must require an Idempotency-Key`);
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
    // All commands of a batch share one check of what their callers can see, so a batch has one set of restrictions. The
    // credential does not tell them: a consent can narrow one of its tokens further.
    const own = isRestricted(authority) ? ` ${JSON.stringify(authority.restrictions)}` : '';
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
  async idsOf(credential: string, operations: readonly string[], key: string): Promise<string[]> {
    const secret = await this.#secret();
    return operations.map((name) => idOf(secret, credential, name, key));
  }
}

export const reservesFor = (remote: RemoteWriter | undefined): boolean | 'sources' =>
  remote?.onlySources === true ? 'sources' : remote !== undefined;

/**
 * Performs a reserved command in another system and stores its outcome. `epoch` proves that this process owns the
 * command.
 */
export async function performReserved(
  db: Database,
  remote: RemoteWriter,
  work: RemoteCommand,
  held: { readonly epoch: number; readonly attempt: string; readonly receipts: readonly string[] },
): Promise<Extract<Entry, { readonly outcome: Ending }> | { readonly state: 'unknown' }> {
  // Keep two seconds of the lease to store the outcome.
  const signal = AbortSignal.timeout(LEASE - 2_000);
  // A remote writer can ignore the signal, so `late` ends the wait.
  const late = new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null), { once: true }));
  const performed = Promise.resolve()
    .then(() => remote.perform(work, signal))
    .catch(() => null);
  const outcome = await Promise.race([performed, late]);
  const settled = await settle(db, { operationId: work.operationId, ...held }, outcome).catch(() => false);
  // Too late: another replica has taken the command over and decides its outcome.
  return settled && outcome ? { state: 'new', outcome } : { state: 'unknown' };
}

/** Notes that the transaction of a write has inserted its audit record, as gateway.audit_writes does. */
export function noteInserted(draft: AuditDraft | undefined, entry: Entry): void {
  const stored = entry.state === 'asked' || (entry.state === 'new' && !('refused' in entry.outcome));
  if (draft && stored) draft.inserted = true;
}

/** A command's id and the fingerprint of its input. A repeated call has the same ones. */
export function operationOf(
  secret: Uint8Array,
  call: WriteCall,
  key: string,
): Pick<Keyed, 'operationId' | 'fingerprint'> {
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

const idOf = (secret: Uint8Array, credential: string, operation: string, key: string): string =>
  `op_${hmac(secret, `${credential} ${operation} ${key}`).toString('hex')}`;

const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest();
