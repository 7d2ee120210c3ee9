import type { AuditDraft } from '../../core/audit.ts';
import type { WebsiteKey } from '../../core/ids.ts';
import type { Within } from '../../core/reads.ts';
import { type Fragment, sql } from '../../core/sql.ts';
import type { Command, Ending, Write } from '../../core/writes.ts';
import { once } from '../../flow/once.ts';
import { holdsIn, numberOf } from '../driver/answers.ts';
import { isUnavailable } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';
import { repeated } from '../driver/repeated.ts';
import { audited } from './audited.ts';
import { guardedBatch, hex, type Proved, StaleAuthority } from './guard.ts';
import type { Reader } from './projection.ts';
import { nativeId, visible } from './read.ts';

/** A command with its idempotency key, and what the ledger needs to perform the command only once. */
export interface Keyed {
  readonly by: Reader;
  readonly operationId: string;
  /** A random UUID of this call. A repeated statement finds its own earlier effect by this UUID. */
  readonly attempt: string;
  /** SHA-256 of the command's input and revisions. */
  readonly fingerprint: Uint8Array;
  readonly command: Command;
  /** The record that the command concerns. The command fails if the caller may not see this record. */
  readonly about: Pick<Within, 'view' | 'id'>;
  readonly draft?: AuditDraft | undefined;
}

/**
 * The common properties of all commands in a batch. All these commands concern one website, and their callers have the
 * same restrictions.
 */
export interface CommandKind {
  readonly write: Pick<Write, 'name' | 'writer'>;
  /** True when the command is performed in the name of an operator. */
  readonly authored: boolean;
  readonly receipts: readonly string[];
  /**
   * True if another system performs the command, and the store only reserves it. `sources`: only where the live source
   * has an API.
   */
  readonly remote: boolean | 'sources';
}

/**
 * The ledger's answer. `new`: this call has ended the command. `settled`: an earlier call has. `asked`: since this call,
 * the command waits for a person. `waiting`: it already did. `full`: too many commands of the credential wait.
 */
export type Entry =
  | { readonly state: 'new' | 'settled'; readonly outcome: Ending }
  | { readonly state: 'reserved'; readonly epoch: number; readonly author: string }
  | { readonly state: 'asked' }
  | { readonly state: 'waiting' }
  | { readonly state: 'pending' | 'unknown' | 'conflict' | 'forgotten' | 'full' | 'rejected' | 'lapsed' };

/**
 * An answer that is not in the ledger. `stale`: the authority has ended. `again`: an earlier command of the batch has
 * the same key.
 */
interface Undecided {
  readonly state: 'stale' | 'again';
}

/** How long (ms) a process holds a command that it performs in another system. Then another replica can take over. */
export const LEASE = 10_000;

/**
 * Enters commands of one kind on one website in the ledger of writes. The callers of these commands have the same
 * restrictions.
 *
 * If the platform itself performs the commands, one statement does everything: authority, reservation, effect, journal
 * entry and outcome. After a lost reply, the same statement is sent again. The second statement finds the outcomes of
 * the first, or performs the commands that the first did not perform. An error in one command undoes all commands, and
 * the ledger then enters each command separately.
 *
 * Returns one answer for each command, in order. The answer for a failed command is an Error.
 */
export async function enter(
  db: Database,
  kind: CommandKind,
  batch: readonly Keyed[],
): Promise<(Proved<Entry> | Error)[]> {
  const [first] = batch;
  if (!first) return [];
  const { write, authored, receipts, remote } = kind;
  const { website } = first.by;
  const authorities = batch.map(({ by }) => by.authority);
  const { view } = first.about;
  const drafts = batch.map((one) => one.draft);
  const columns = (attempt: number) => sql`
           ${audited(
             drafts,
             attempt,
             sql`gateway.write_batch(${website.tenant}, ${website.site}, ${write.name}, ${write.writer}, ${authored},
             ${receipts}::text[], ${leaseOf(remote, website)}, b.commands)`,
           )} AS entries`;
  const joins = sql`
     CROSS JOIN LATERAL (
       SELECT array_agg((k.id, k.attempt, k.credential, k.digest, k.revision, k.fingerprint,
                         CASE WHEN k.ok THEN coalesce(${visible(first.by, view, sql`k.about`)}, false) END,
                         k.command)::gateway.keyed_command ORDER BY k.n) AS commands
         FROM unnest(${batch.map((one) => one.operationId)}::text[], ${batch.map((one) => one.attempt)}::uuid[],
                     ${authorities.map((one) => one.credentialId)}::text[], guard.digests, guard.revisions,
                     ${batch.map((one) => hex(one.fingerprint))}::bytea[], guard.oks,
                     ${batch.map(({ by, about }) => nativeId(by, about.view, about.id))}::bigint[],
                     ${batch.map(({ command }) => JSON.stringify(command))}::text[]::jsonb[]) WITH ORDINALITY
                AS k (id, attempt, credential, digest, revision, fingerprint, ok, about, command, n)) b`;
  try {
    const { proofs, rows } = await repeated((attempt) =>
      guardedBatch<{ entries: (Entry | Undecided)[] }>(db, authorities, columns(attempt), joins),
    );
    const entries = rows[0]?.entries ?? [];
    const again = batch.filter((_, i) => entries[i]?.state === 'again');
    const later = (await enter(db, kind, again)).values();
    return batch.map((_, i) => {
      const [entry, proof] = [entries[i], proofs[i]];
      if (entry?.state === 'again') return later.next().value ?? new StaleAuthority();
      if (entry === undefined || entry.state === 'stale' || !proof) return new StaleAuthority();
      return { proof, answer: entry as Entry }; // the states `stale` and `again` were handled above
    });
  } catch (error) {
    if (batch.length > 1 && !isUnavailable(error)) {
      const alone: (Proved<Entry> | Error)[] = [];
      for (const one of batch) {
        const last = alone.at(-1);
        // If the store is unavailable, the remaining commands fail at once and do not wait for the same error.
        const unavailable = last instanceof Error && isUnavailable(last);
        alone.push(...(unavailable ? [last] : await enter(db, kind, [one])));
      }
      return alone;
    }
    return batch.map(() => (error instanceof Error ? error : new Error(String(error))));
  }
}

/** SQL of the time for which a command is reserved for another system. Null: the store performs the command. */
export function leaseOf(remote: CommandKind['remote'], { tenant, site }: WebsiteKey): Fragment {
  const reserves = sql`${remote ? LEASE : null}::integer * interval '1 millisecond'`;
  if (remote !== 'sources') return reserves;
  return sql`CASE WHEN EXISTS (SELECT FROM gateway.source w WHERE w.tenant = ${tenant} AND w.site = ${site}
                                  AND w.api_token IS NOT NULL) THEN ${reserves} END`;
}

/**
 * Stores the outcome of a command. `null` means that the outcome is unknown. Each take-over of a command has a new
 * `epoch`. Returns false if another caller has taken over the command in the meantime. `attempt` is set when this call
 * itself has reserved the command. After a lost reply, the statement is repeated.
 */
export async function settle(
  db: Database,
  held: {
    readonly operationId: string;
    readonly epoch: number;
    readonly attempt?: string;
    readonly receipts: readonly string[];
  },
  outcome: Ending | null,
): Promise<boolean> {
  const { operationId, epoch, attempt = null, receipts } = held;
  const statement = sql`
    SELECT gateway.settle_audited(${operationId}, ${epoch}, ${attempt}::uuid,
                                    ${outcome && JSON.stringify(outcome)}::text::json, ${receipts}::text[]) AS holds`;
  return holdsIn(repeated(() => db.query(statement)));
}

/** A command taken over after its lease expired. Only this process can now end it. */
export interface Lapsed {
  readonly operationId: string;
  readonly epoch: number;
  readonly website: string;
  readonly operation: string;
}

export const takeLapsed = (db: Database, n: number): Promise<Lapsed[]> =>
  db.query<Lapsed>(sql`
    SELECT operation_id AS "operationId", epoch, 'web_' || tenant || '_' || site AS website, operation
      FROM gateway.take_lapsed(${LEASE}::integer * interval '1 millisecond', ${n})`);

/** Erases at most `n` outcomes that are older than 24 hours. Returns their number. */
export const eraseOutcomes = (db: Database, n: number): Promise<number> =>
  numberOf(db.query(sql`SELECT gateway.erase_outcomes(${n}) AS n`));

/**
 * Lapses at most `n` pending writes whose time or authority has ended. Returns their number. `restored`: a backup was
 * restored, so all of them lapse.
 */
export const lapseApprovals = (db: Database, n: number, restored = false): Promise<number> =>
  numberOf(db.query(sql`SELECT gateway.lapse_approvals(${n}::integer, ${restored}::boolean) AS n`));

/** Returns a function that reads the key for operation ids from the store, only once. All replicas use the same key. */
export const openLedgerKey = (db: Database): (() => Promise<Uint8Array>) => once(() => ledgerKey(db));

async function ledgerKey(db: Database): Promise<Uint8Array> {
  const [row] = await db.read<{ key: Uint8Array }>(sql`SELECT key FROM gateway.ledger_key`);
  if (!row) throw new Error('the ledger has no key');
  return row.key;
}
