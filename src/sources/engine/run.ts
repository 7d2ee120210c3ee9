import { setTimeout as sleep } from 'node:timers/promises';
import { type Fragment, raw, sql } from '../../core/sql.ts';
import { holdsIn } from '../../store/driver/answers.ts';
import { sqlState } from '../../store/driver/errors.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { Position } from '../source.ts';
import { type RunPlace, slotPlace } from './place.ts';

/** Another import is running, or has taken over from this import. */
export class ImportBusy extends Error {
  override readonly name = 'ImportBusy';
}

/** Another gateway has taken the source over, or the source was paused or removed. */
export class SourceLost extends Error {
  override readonly name = 'SourceLost';
}

/** Identifies the content of an input. A run can be resumed only if its inputs are unchanged. */
export interface FileIdentity {
  readonly name: string;
  readonly size: number | null;
  readonly modified: number | null;
  /** The SHA-256 of the first 64 KiB. Null for standard input and for records from memory. */
  readonly head: string | null;
}

export interface RunState {
  readonly unfinished: boolean;
  readonly sources: readonly FileIdentity[] | null;
  readonly organization: string | null;
  readonly staged: boolean;
  readonly file: number;
  readonly offset: number;
  readonly line: number;
  readonly seq: number;
  /** Where a source continues. Null for files. */
  readonly position: Position | null;
  /** False if the staging tables are empty after a crash of PostgreSQL, because they are unlogged. */
  readonly intact: boolean;
}

/**
 * How long (ms) an import waits for the lease of another. A lease lasts 10 s, so that of a killed import expires in
 * time.
 */
export const PATIENCE = 12_000;
export const POLL = 150;
const BEAT = 2_000;

export interface Run {
  readonly slot: number;
  readonly epoch: number;
  readonly place: RunPlace;
  state(): Promise<RunState>;
  /** Deletes the staged records of the slot's last run. Appends the receipts that lost runs have not yet appended. */
  begin(sources: readonly FileIdentity[], organization: string | undefined): Promise<void>;
  finish(): Promise<void>;
  release(): Promise<void>;
  /** True if another import or load waits for a slot. */
  wanted(): Promise<boolean>;
  /** Releases the slot. For two minutes after this call or after `spend`, nobody else empties the slot. */
  park(): Promise<void>;
  /** Counts the time of a load (08_import_slots.sql). Says why the load must stop. */
  spend(
    waited: { readonly milliseconds: number; readonly answers: number },
    bounds: { readonly window: number; readonly fewest: number; readonly total: number },
  ): Promise<'slow' | 'long' | undefined>;
}

export interface Subject {
  /** Names what is read. An unfinished run of the same subject can continue. Two runs of one subject take turns. */
  readonly name: string;
  readonly source?: { readonly id: string; readonly epoch: number };
  /** True for a load or a comparison of a whole source. */
  readonly loads?: boolean;
  /** True to wait for a slot without a limit. */
  readonly patient?: boolean;
  /** True if the staged records have digests (digests.ts). Without them, the run cannot tell who was erased. */
  readonly checked?: boolean;
}

export async function takeRun(db: Database, subject: Subject, signal: AbortSignal | undefined): Promise<Run> {
  const { slot, epoch } = await take(db, subject, signal);
  const live = subject.source !== undefined;
  // Renew the lease between statements. Ignore an error: the next statement checks the lease and reports it.
  const beat = setInterval(() => {
    db.query(sql`SELECT gateway.import_beat(${slot}, ${epoch})`).catch(() => undefined);
  }, BEAT).unref();
  const giveBack = async (kept: Fragment): Promise<void> => {
    clearInterval(beat);
    // Ignore this error, so that it does not hide an earlier one. The lease expires by itself.
    await db
      .query(
        sql`UPDATE gateway.import_run SET lease_until = '-infinity', backend = NULL, kept_until = ${kept}
             WHERE slot = ${slot} AND epoch = ${epoch}`,
      )
      .catch(() => undefined);
  };
  return {
    slot,
    epoch,
    place: slotPlace(slot, sql`${epoch}::bigint`, live),
    state: () => readState(db, slot),
    begin: async (sources, organization) => {
      const described = JSON.stringify(sources);
      const named = organization ?? null;
      await db
        .query(sql`SELECT gateway.import_begin(${slot}, ${epoch}, ${described}::text::jsonb, ${named}::text, ${!live})`)
        .catch(explainLostLease);
      const checked = db.query<{ holds: boolean }>(
        sql`SELECT gateway.import_checked(${slot}, ${epoch}, ${subject.checked === true}) AS holds`,
      );
      if (!(await holdsIn(checked))) throw new ImportBusy('A person is being erased. Start the import again.');
    },
    finish: async () => {
      await db.query(sql`SELECT gateway.import_finish(${slot}, ${epoch})`).catch(explainLostLease);
    },
    release: () => giveBack(sql`'-infinity'`),
    wanted: () => holdsIn(db.query(sql`SELECT gateway.import_wanted(${slot}) AS holds`)),
    park: () => giveBack(sql`clock_timestamp() + interval '2 minutes'`),
    spend: async ({ milliseconds, answers }, { window, fewest, total }) => {
      const [row] = await db.query<{ why: 'slow' | 'long' | null }>(sql`
        SELECT gateway.import_spend(${slot}, ${epoch}, make_interval(secs => ${milliseconds / 1000}), ${answers},
          make_interval(secs => ${window}), ${fewest}, make_interval(secs => ${total})) AS why`);
      return row?.why ?? undefined;
    },
  };
}

async function take(
  db: Database,
  { name, source, loads = false, patient = false }: Subject,
  signal: AbortSignal | undefined,
): Promise<{ slot: number; epoch: number }> {
  const limit = performance.now() + PATIENCE;
  for (;;) {
    const [row] = await db.query<{ slot: number; epoch: number }>(
      sql`SELECT slot, epoch::float8 AS epoch FROM gateway.import_take(${name}, ${source?.id ?? null}::text, ${source?.epoch ?? null}::bigint, ${loads})`,
    );
    if (row !== undefined) return row;
    if (!patient && performance.now() > limit)
      throw new ImportBusy('The same import is running, or three other imports are. Wait until one has finished.');
    await sleep(POLL, undefined, signal === undefined ? {} : { signal });
  }
}

async function readState(db: Database, slot: number): Promise<RunState> {
  const [row] = await db.query<RunState>(sql`
    SELECT unfinished, sources, organization, staged, file, byte_offset::float8 AS "offset", line::float8 AS line,
           seq::float8 AS seq, position,
           (SELECT coalesce(sum(read), 0) = 0 FROM gateway.import_tally WHERE slot = ${slot})
             OR EXISTS (SELECT 1 FROM ${raw(`gateway.import_stage_${slot}`)})
             OR EXISTS (SELECT 1 FROM ${raw(`gateway.import_reject_${slot}`)}) AS intact
      FROM gateway.import_run WHERE slot = ${slot}`);
  if (row === undefined) throw new Error(`gateway.import_run has no slot ${slot}: the store is damaged`);
  return row;
}

/** Turns the error of a lost lease into ImportBusy. Throws every other error unchanged. */
export function explainLostLease(error: unknown): never {
  const state = sqlState(error);
  if (state === 'GW001') throw new ImportBusy('Another import has taken over this import.', { cause: error });
  if (state === 'GW003')
    throw new ImportBusy('Another import is running in the same organization. Wait until it has finished.', {
      cause: error,
    });
  throw error;
}
