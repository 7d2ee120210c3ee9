import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '../../core/sql.ts';
import { type Database, sqlState } from '../../store/driver/postgres.ts';

/** Another import is at work, or has taken this one over. */
export class ImportBusy extends Error {
  override readonly name = 'ImportBusy';
}

/** What identifies a source, so that a resumed run knows that it reads the same bytes. */
export interface Source {
  readonly name: string;
  readonly size: number | null;
  readonly modified: number | null;
  /** SHA-256 of the first 64 KiB. */
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
  /** Staged lines are there: a crash of PostgreSQL empties the staging tables. */
  readonly intact: boolean;
}

/** Milliseconds that a second import waits for the first one's lease: more than a lease lasts after a kill. */
const PATIENCE = 12_000;
const POLL = 150;
const BEAT = 2_000;

export interface Run {
  readonly epoch: number;
  state(): Promise<RunState>;
  /** Forgets what a run before left staged, and writes the receipts that it left owing. */
  begin(sources: readonly Source[], organization: string | undefined): Promise<void>;
  finish(): Promise<void>;
  /** Lets go of the lease, so that the next import need not wait for it to lapse. */
  release(): Promise<void>;
}

export async function takeRun(db: Database, signal: AbortSignal | undefined): Promise<Run> {
  const epoch = await take(db, signal);
  // The beat keeps the lease between statements. One that fails needs no answer here: the next statement is fenced and
  // says what is wrong.
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
      // Out of reach, the lease lapses by itself, and what went wrong before is the error to report.
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
    if (performance.now() > limit) throw new ImportBusy('another import is running: wait until it has finished');
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

/** Says in the importer's words what a fenced statement refused. */
export function explainFence(error: unknown): never {
  if (sqlState(error) === 'GW001') throw new ImportBusy('another import has taken over this one', { cause: error });
  throw error;
}
