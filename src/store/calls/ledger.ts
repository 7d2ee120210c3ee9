import type { Within } from '../../core/reads.ts';
import { sql } from '../../core/sql.ts';
import type { Command, Ending } from '../../core/writes.ts';
import { type Database, isUnavailable, mayRepeat, sqlState } from '../driver/postgres.ts';
import { proof, StaleAuthority } from './guard.ts';
import { nativeId, type ReadSession, visible } from './read.ts';

/** A command under its key: what the ledger needs to do it once and to know it again. */
export interface Keyed {
  readonly session: ReadSession;
  readonly operationId: string;
  /** A random UUID of the call's own: by it a statement that is sent again knows what it has done before. */
  readonly attempt: string;
  /** SHA-256 of input and revisions. */
  readonly fingerprint: Uint8Array;
  readonly command: Command;
  /** The record that the command is about; the caller must be able to see it. */
  readonly about: Pick<Within, 'view' | 'id'>;
}

/** What all commands of a batch have in common, beside their website and what their callers may see of it. */
export interface Kind {
  readonly operation: Command['operation'];
  /** Whether it is made in the name of a mapped author. */
  readonly authored: boolean;
  /** What the change leaves in the journal. */
  readonly receipts: readonly string[];
  /** Whether another system performs it, so that it is only reserved. */
  readonly remote: boolean;
}

/** What the ledger says of a command. `new`: this call has ended it so; `settled`: another one had. */
export type Entry =
  | { readonly state: 'new' | 'settled'; readonly outcome: Ending }
  | { readonly state: 'reserved'; readonly epoch: number; readonly author: string }
  | { readonly state: 'pending' | 'unknown' | 'conflict' | 'forgotten' };

/** Its authority was gone, or one before it in the batch had its key. */
interface Undecided {
  readonly state: 'stale' | 'again';
}

/** Milliseconds for a command of a remote writer, after which another replica may look after it. */
export const LEASE = 10_000;

/** Deadlock and serialization failure: PostgreSQL has undone the whole statement (checks, F-21). */
const UNDONE = /^(40P01|40001)$/;
const ATTEMPTS = 3;
/** What write_batch raises where an authority ended while it waited. */
const STALE = 'GW401';

/** Runs it again where nothing, or nothing else, can come of that: the reply was lost, or all of it was undone. */
async function repeated<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const may = mayRepeat(error) || UNDONE.test(sqlState(error));
      if (!may || attempt === ATTEMPTS) throw error;
    }
  }
}

const hex = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`;

/**
 * Enters commands of one kind on one website, of callers who may see the same of it. Of the platform's own
 * writer, authority, reservation, effect, journal entry and outcome of all are this one statement. A reply that was lost
 * says nothing about the commit: the same statement sent again finds its outcomes, or does what the first did not. What one
 * command raises undoes all of them, and then each is entered by itself. Answers in order, an Error for what was refused.
 */
export async function enter(db: Database, kind: Kind, batch: readonly Keyed[]): Promise<(Entry | Error)[]> {
  const [first] = batch;
  if (!first) return [];
  const { operation, authored, receipts, remote } = kind;
  const { website } = first.session;
  const authorities = batch.map(({ session }) => session.authority);
  const { view } = first.about;
  const statement = sql`
    SELECT gateway.write_batch(${website.tenant}, ${website.site}, ${operation}, ${authored}, ${receipts}::text[],
             ${remote ? LEASE : null}::integer * interval '1 millisecond',
             b.ids, b.attempts, b.credentials, b.digests, b.revisions, b.fingerprints, s.seen, b.commands) AS entries
      FROM (SELECT ${batch.map((one) => one.operationId)}::text[] AS ids,
                   ${batch.map((one) => one.attempt)}::uuid[] AS attempts,
                   ${authorities.map((one) => one.credentialId)}::text[] AS credentials,
                   ${authorities.map((one) => hex(one.digest))}::bytea[] AS digests,
                   ${authorities.map((one) => one.revision)}::integer[] AS revisions,
                   ${batch.map((one) => hex(one.fingerprint))}::bytea[] AS fingerprints,
                   ${batch.map(({ command }) => JSON.stringify(command))}::text[]::jsonb[] AS commands,
                   ${batch.map(({ session, about }) => nativeId(session, about.view, about.id))}::bigint[] AS abouts) b
     CROSS JOIN LATERAL (
       SELECT array_agg(CASE WHEN ${proof(sql`k.digest`, sql`k.revision`)}
                             THEN coalesce(${visible(first.session, view, sql`k.about`)}, false) END ORDER BY k.n) AS seen
         FROM unnest(b.digests, b.revisions, b.abouts) WITH ORDINALITY AS k (digest, revision, about, n)) s`;
  try {
    const [row] = await repeated(() => db.query<{ entries: (Entry | Undecided)[] }>(statement));
    const entries = row?.entries ?? [];
    const again = batch.filter((_, i) => entries[i]?.state === 'again');
    const later = (await enter(db, kind, again)).values();
    return batch.map(({ session }, i) => {
      const entry = entries[i];
      if (entry?.state === 'again') return later.next().value ?? new StaleAuthority();
      if (entry === undefined || entry.state === 'stale') return new StaleAuthority();
      session.verified = true;
      return entry as Entry; // what is undecided has been dealt with above
    });
  } catch (error) {
    if (batch.length > 1 && !isUnavailable(error)) {
      const alone: (Entry | Error)[] = [];
      for (const one of batch) {
        const last = alone.at(-1);
        // Where the store cannot now, the others are not kept waiting for the same.
        const unavailable = last instanceof Error && isUnavailable(last);
        alone.push(...(unavailable ? [last] : await enter(db, kind, [one])));
      }
      return alone;
    }
    const refusal = sqlState(error) === STALE ? new StaleAuthority() : error;
    return batch.map(() => (refusal instanceof Error ? refusal : new Error(String(refusal))));
  }
}

/**
 * Ends a command that this epoch works on; `null`: its outcome is unknown. False: it is another's by now. `attempt` where
 * the caller has reserved it. A lost reply is resolved by saying it again.
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
    SELECT gateway.settle_operation(${operationId}, ${epoch}, ${attempt}::uuid,
                                    ${outcome && JSON.stringify(outcome)}::text::json, ${receipts}::text[]) AS settled`;
  const [row] = await repeated(() => db.query<{ settled: boolean }>(statement));
  return row?.settled === true;
}

/** A command whose replica has let its lease lapse; taken over, so that only this caller can settle it. */
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

/** Erases outcomes that have been kept for 24 hours; at most `n` rows, and how many they were. */
export async function eraseOutcomes(db: Database, n: number): Promise<number> {
  const [row] = await db.query<{ erased: number }>(sql`SELECT gateway.erase_outcomes(${n}) AS erased`);
  return row?.erased ?? 0;
}

/** The key under which operation ids are made; it lies in the store, and no replica has another. Read once. */
export function openLedgerKey(db: Database): () => Promise<Uint8Array> {
  let known: Promise<Uint8Array> | undefined;
  return () => {
    known ??= ledgerKey(db).catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
}

async function ledgerKey(db: Database): Promise<Uint8Array> {
  const [row] = await db.read<{ key: Uint8Array }>(sql`SELECT key FROM gateway.ledger_key`);
  if (!row) throw new Error('the ledger has no key');
  return row.key;
}
