import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '../../core/sql.ts';
import { sqlState } from '../../store/driver/errors.ts';
import type { Database } from '../../store/driver/postgres.ts';

/** Another import is running, or has taken over from this import. */
export class ImportBusy extends Error {
  override readonly name = 'ImportBusy';
}

/** Identifies the content of a source. A run can be resumed only if its sources are still identical. */
export interface Source {
  readonly name: string;
  readonly size: number | null;
  readonly modified: number | null;
  /** The SHA-256 of the first 64 KiB. Null for standard input and for records from memory. */
  readonly head: string | null;
}

export interface RunState {
  readonly unfinished: boolean;
  readonly sources: readonly Source[] | null;
  readonly organization: string | null;
  readonly staged: boolean;
  readonly file: number;
  readonly offset: number;
  readonly line: number;
  readonly seq: number;
  /**
   * False if the staging tables have lost the staged lines. A crash of PostgreSQL empties these tables, because the
   * tables are unlogged.
   */
  readonly intact: boolean;
}

/**
 * An import waits this many milliseconds for the lease of another import. A lease lasts 10 s, so the lease of a killed
 * import expires in this time.
 */
const PATIENCE = 12_000;
const POLL = 150;
const BEAT = 2_000;

export interface Run {
  readonly epoch: number;
  state(): Promise<RunState>;
  /** Deletes the staged lines of the previous run. Appends the receipts that the previous run has not yet appended. */
  begin(sources: readonly Source[], organization: string | undefined): Promise<void>;
  finish(): Promise<void>;
  release(): Promise<void>;
}

export async function takeRun(db: Database, signal: AbortSignal | undefined): Promise<Run> {
  const epoch = await take(db, signal);
  // This interval renews the lease between statements. An error here can be ignored, because the next statement checks
  // the lease and reports the error.
  const beat = setInterval(() => {
    db.query(sql`SELECT gateway.import_beat(${epoch})`).catch(() => undefined);
  }, BEAT).unref();
  return {
    epoch,
    state: () => readState(db),
    begin: async (sources, organization) => {
      const described = JSON.stringify(sources);
      const named = organization ?? null;
      await db
        .query(sql`SELECT gateway.import_begin(${epoch}, ${described}::text::jsonb, ${named}::text)`)
        .catch(explainFence);
    },
    finish: async () => {
      await db.query(sql`SELECT gateway.import_finish(${epoch})`).catch(explainFence);
    },
    release: async () => {
      clearInterval(beat);
      // If the store cannot be reached, the lease expires by itself. This error is dropped, so that it does not hide an
      // earlier error.
      await db
        .query(sql`UPDATE gateway.import_run SET lease_until = '-infinity', backend = NULL WHERE epoch = ${epoch}`)
        .catch(() => undefined);
    },
  };
}

async function take(db: Database, signal: AbortSignal | undefined): Promise<number> {
  const limit = performance.now() + PATIENCE;
  for (;;) {
    const [row] = await db.query<{ epoch: string | null }>(sql`SELECT gateway.import_take() AS epoch`);
    if (row?.epoch != null) return Number(row.epoch);
    if (performance.now() > limit) throw new ImportBusy('Another import is running. Wait until it has finished.');
    await sleep(POLL, undefined, signal === undefined ? {} : { signal });
  }
}

async function readState(db: Database): Promise<RunState> {
  const [row] = await db.query<RunState>(sql`
    SELECT unfinished, sources, organization, staged, file, byte_offset::float8 AS "offset", line::float8 AS line,
           seq::float8 AS seq,
           (SELECT coalesce(sum(read), 0) = 0 FROM gateway.import_tally)
             OR EXISTS (SELECT 1 FROM gateway.import_stage) OR EXISTS (SELECT 1 FROM gateway.import_reject) AS intact
      FROM gateway.import_run`);
  if (row === undefined) throw new Error('gateway.import_run has no row: the store is damaged');
  return row;
}

/** Turns the error of a lost lease into ImportBusy. Throws every other error unchanged. */
export function explainFence(error: unknown): never {
  if (sqlState(error) === 'GW001') throw new ImportBusy('Another import has taken over this import.', { cause: error });
  throw error;
}
