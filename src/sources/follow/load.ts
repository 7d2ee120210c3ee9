import { realpath } from 'node:fs/promises';
import { raw, sql } from '../../core/sql.ts';
import { seldom } from '../../flow/seldom.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { apply, type Progress } from '../engine/apply.ts';
import type { HeldSource } from '../engine/page.ts';
import { type FileRecord, prepareChange } from '../engine/prepare.ts';
import { RECORD_TYPES, type RecordType } from '../engine/records.ts';
import { storedRejects } from '../engine/rejects.ts';
import { type Run, takeRun } from '../engine/run.ts';
import { Stage } from '../engine/stage.ts';
import { type ImportCounts, resultOf } from '../engine/tally.ts';
import type { Source } from '../source.ts';
import type { Stores } from './follow.ts';
import { BOUNDS, watchSpent } from './spent.ts';
import { keepProgress, type SourceRow } from './state.ts';
import { openTurn, Reading, TURN } from './turn.ts';

export interface FileChange {
  readonly from: string;
  readonly file: FileRecord;
}

/** How many stored records one call of `missing` asks about. */
const ASKED = 5_000;
/** Milliseconds between two reports of the progress. */
const TOLD = 500;

type Loadable = HeldSource & Pick<SourceRow, 'organization' | 'storage'>;

/**
 * Reads the whole source, writes what differs and removes the other records. `resumes`: continues an interrupted load.
 */
export async function load(
  { db: state, writer: db, turn: milliseconds = TURN, bounds = BOUNDS }: Stores,
  row: Loadable,
  source: Source,
  { resumes, signal: outer }: { readonly resumes: boolean; readonly signal: AbortSignal },
): Promise<ImportCounts> {
  const tell = teller(state, row);
  const reading = new Reading(source);
  const stopped = new AbortController();
  const signal = AbortSignal.any([outer, stopped.signal]);
  for (let again = false; ; again = true) {
    signal.throwIfAborted();
    // Loads and imports share the slots. A load waits here until a slot is free.
    tell({ phase: 'wait for other loads', done: 0, total: null });
    const run = await takeRun(
      db,
      { name: row.id, source: row, loads: true, patient: again, checked: row.digest !== undefined },
      signal,
    );
    const turn = openTurn(run, milliseconds, signal);
    const spent = watchSpent(run, reading.waited, bounds, (reason) => stopped.abort(reason));
    let parked = false;
    try {
      // This source writes no page between two turns. So in its next turn, even a comparison can continue.
      return await loadFor(db, row, run, reading, { resumes: resumes || again, signal: turn.signal, tell });
    } catch (error) {
      if (!turn.ended(error)) throw error;
      parked = true;
      turn.end();
      await run.park();
      // While the helpdesk is slow, the load needs no slot.
      await reading.settled(signal);
    } finally {
      await spent.end();
      turn.end();
      if (!parked) await run.release();
    }
  }
}

interface Loading {
  readonly resumes: boolean;
  readonly signal: AbortSignal;
  readonly tell: (progress: Progress) => void;
}

/** Loads until the end or until the signal aborts. */
async function loadFor(
  db: Database,
  row: Loadable,
  run: Run,
  reading: Reading,
  { resumes, signal, tell }: Loading,
): Promise<ImportCounts> {
  let at = await run.state();
  // A comparison does not continue an older one, because pages with newer rows may have been written since.
  if (!resumes || !at.unfinished || !at.intact) {
    await run.begin([identity(row.id)], row.organization);
    reading.gone = { type: 0, after: '' };
    at = await run.state();
  }
  if (!at.staged) {
    const stage = new Stage(db, run, at.seq, row.digest);
    try {
      await stageAll(stage, reading, await folderOf(row.storage), at.position, signal, tell);
      await stageMissing(db, row, stage, reading, signal);
    } finally {
      await stage.settled();
    }
    await db.query(sql`UPDATE gateway.import_run SET staged = true WHERE slot = ${run.slot} AND epoch = ${run.epoch}`);
    await db.query(sql`ANALYZE ${raw(run.place.stage)} (type, seq, external_id, owner)`);
  }
  await apply(db, run, signal, tell);
  await db.query(
    sql`WITH lease AS MATERIALIZED (SELECT ${run.place.lease})
          DELETE FROM gateway.source_reject r USING lease WHERE r.source = ${row.id}`,
  );
  await keepRejects(db, row, run, []);
  await run.finish();
  return resultOf(db, run);
}

/**
 * Writes files with content, which is too large for one transaction, so it is staged. Returns the number of records.
 */
export async function writeFiles(
  db: Database,
  row: Loadable,
  files: readonly FileChange[],
  signal: AbortSignal,
): Promise<ImportCounts> {
  const name = `${row.id} files`;
  const run = await takeRun(db, { name, source: row, checked: row.digest !== undefined }, signal);
  try {
    await run.begin([identity(name)], row.organization);
    const stage = new Stage(db, run, 0, row.digest);
    const folder = await folderOf(row.storage);
    for (const [n, { from, file }] of files.entries()) {
      await stage.prepared({ file: 0, line: n + 1, origin: from }, { file }, folder);
      if (stage.full) await stage.flush({ position: null });
    }
    await stage.flush({ position: null });
    await stage.settled();
    await apply(db, run, signal, () => undefined);
    const tried = files.map(({ from }) => from);
    await keepRejects(db, row, run, tried);
    await run.finish();
    return await resultOf(db, run);
  } finally {
    await run.release();
  }
}

const identity = (name: string) => ({ name, size: null, modified: null, head: null });

/** Resolves symbolic links. Null if the folder does not exist. Then files have no content. */
const folderOf = (path: string | null): Promise<string | null> =>
  path === null ? Promise.resolve(null) : realpath(path).catch(() => null);

/** The position after the last page. Null would mean that the load has not started. */
const END = { end: true };

async function stageAll(
  stage: Stage,
  reading: Reading,
  storage: string | null,
  from: Readonly<Record<string, unknown>> | null,
  signal: AbortSignal,
  tell: (progress: Progress) => void,
): Promise<void> {
  if (from?.['end'] === true) return;
  let done = 0;
  for (let after = from; ; ) {
    signal.throwIfAborted();
    const page = await reading.load(after, signal);
    for (const change of page.changes) {
      if (!('record' in change || 'prepared' in change)) continue;
      const waits = stage.prepared({ file: 0, line: ++done, origin: change.from }, prepareChange(change), storage);
      if (waits !== undefined) await waits;
      // One row can have many records, such as a note for many visitors. A resumed load stages such a row again.
      if (stage.heavy) await stage.flush({ position: after });
    }
    await stage.flush({ position: page.after ?? END });
    tell({ phase: 'load', done, total: null });
    if (page.after === null) return;
    after = page.after;
  }
}

/** Stages a deletion for each stored record that the source no longer has. */
async function stageMissing(
  db: Database,
  held: HeldSource,
  stage: Stage,
  reading: Reading,
  signal: AbortSignal,
): Promise<void> {
  const { gone } = reading;
  for (; gone.type < RECORD_TYPES.length; gone.type += 1, gone.after = '') {
    const of = RECORD_TYPES[gone.type];
    if (of === undefined || of === 'delete' || of === 'organization' || of === 'website') continue;
    for (;;) {
      signal.throwIfAborted();
      const ids = await storedIds(db, held, of, gone.after);
      if (ids.length === 0) break;
      for (const external_id of await reading.missing(of, ids, signal)) {
        stage.record({ file: 0, line: 0, origin: external_id }, { type: 'delete', of, external_id }, null);
      }
      await stage.flush({ position: END });
      gone.after = ids.at(-1) ?? '';
    }
  }
}

/** The helpdesk knows nothing of the shells that an erasure leaves. So they are no record that the source has lost. */
async function storedIds(db: Database, { tenant }: HeldSource, of: RecordType, after: string): Promise<string[]> {
  const rows = await db.read<{ external_id: string }>(sql`
    SELECT DISTINCT external_id FROM ${raw(`platform.${of}`)}
     WHERE tenant = ${tenant} AND external_id > ${after} AND external_id NOT LIKE 'erased:%' ORDER BY external_id LIMIT ${ASKED}`);
  return rows.map(({ external_id }) => external_id);
}

/** Keeps the rejects of a run. They replace the earlier rejects of the rows in `tried`. */
async function keepRejects(db: Database, held: HeldSource, run: Run, tried: readonly string[]): Promise<void> {
  const replace = (origins: readonly string[], refused: readonly object[]) =>
    db.query(sql`WITH lease AS MATERIALIZED (SELECT ${run.place.lease})
      SELECT gateway.source_rejects(${held.id}, ${[...origins]}::text[], ${JSON.stringify(refused)}::text::jsonb) FROM lease`);
  await replace(tried, []);
  for await (const page of storedRejects(db, run)) {
    const refused = page.map(({ origin, pointer, code }) => ({ origin: origin ?? '', pointer, code }));
    await replace([], refused);
  }
}

/** Notes the progress at most twice a second. A lost note is no loss. */
const teller = (db: Database, held: HeldSource) =>
  seldom(TOLD, (progress: Progress) => void keepProgress(db, held, progress).catch(() => undefined));
