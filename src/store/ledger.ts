import type { Within } from '../core/reads.ts';
import { sql } from '../core/sql.ts';
import type { Command, Ending } from '../core/writes.ts';
import { guard, StaleAuthority } from './guard.ts';
import { type Database, mayRepeat, sqlState } from './postgres.ts';
import { exists, type ReadSession } from './read.ts';

/** A command under its key: what the ledger needs to do it once and to know it again. */
export interface Keyed {
  readonly operationId: string;
  /** SHA-256 of input and revisions. */
  readonly fingerprint: Uint8Array;
  readonly command: Command;
  /** The record that the command is about; the caller must be able to see it. */
  readonly about: Within;
  /** What the change leaves in the journal. */
  readonly receipts: readonly string[];
}

/** What the ledger says of a command. `new`: it has just ended so; `settled`: it had ended so before. */
export type Entry =
  | { readonly state: 'new' | 'settled'; readonly outcome: Ending }
  | { readonly state: 'reserved'; readonly epoch: number; readonly author: string }
  | { readonly state: 'pending' | 'unknown' | 'conflict' | 'forgotten' };

/** Milliseconds for a command of a remote writer, after which another replica may look after it. */
export const LEASE = 10_000;

/** Deadlock and serialization failure: PostgreSQL has undone the whole statement (checks, F-21). */
const UNDONE = /^(40P01|40001)$/;
const ATTEMPTS = 3;
/** What write_once raises where the authority ended while it waited. */
const STALE = 'GW401';

/**
 * Enters a command. Of the platform's own writer, authority, reservation, effect, journal entry and outcome are this one
 * statement; with `remote` it only reserves. A reply that was lost says nothing about the commit: the same statement sent
 * again finds the outcome of the first, or does what the first did not.
 */
export async function enter(session: ReadSession, keyed: Keyed, remote: boolean): Promise<Entry> {
  const { db, authority, website } = session;
  const { operationId, fingerprint, command, about, receipts } = keyed;
  const statement = sql`
    SELECT guard.ok, CASE WHEN guard.ok THEN gateway.write_once(
      ${authority.digest}, ${operationId}, ${authority.credentialId}, ${authority.revision}, ${website.tenant}, ${website.site},
      ${command.operation}, ${fingerprint}, ${exists(session, [about])}, ${JSON.stringify(command)}::text::jsonb,
      ${receipts}::text[], ${remote ? LEASE : null}::integer * interval '1 millisecond') END AS entry
    FROM ${guard(authority)}`;
  for (let attempt = 1; ; attempt++) {
    try {
      const [row] = await db.query<{ ok: boolean; entry: Entry | null }>(statement);
      if (row?.ok !== true || !row.entry) throw new StaleAuthority();
      session.verified = true;
      // What an attempt of this very call has done is no replay.
      return attempt > 1 && row.entry.state === 'settled' ? { ...row.entry, state: 'new' } : row.entry;
    } catch (error) {
      if (sqlState(error) === STALE) throw new StaleAuthority();
      const may = mayRepeat(error) || UNDONE.test(sqlState(error));
      if (!may || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Ends a command that this epoch works on; `null`: its outcome is unknown. False: it is another's by now. */
export async function settle(
  db: Database,
  { operationId, epoch, receipts }: { operationId: string; epoch: number; receipts: readonly string[] },
  outcome: Ending | null,
): Promise<boolean> {
  const [row] = await db.query<{ settled: boolean }>(sql`
    SELECT gateway.settle_operation(${operationId}, ${epoch}, ${outcome && JSON.stringify(outcome)}::text::json,
                                    ${receipts}::text[]) AS settled`);
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
