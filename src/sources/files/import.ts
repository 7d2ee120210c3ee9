import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { jsonOf } from '../../core/json.ts';
import { Refused } from '../../core/refused.ts';
import { raw, sql } from '../../core/sql.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { apply, type Progress, rehearsal } from '../engine/apply.ts';
import type { PersonDigest } from '../engine/digests.ts';
import { type Reject, type StoredReject, storedRejects } from '../engine/rejects.ts';
import { type FileIdentity, type Run, type RunState, takeRun } from '../engine/run.ts';
import { type At, Stage } from '../engine/stage.ts';
import { type ImportResult, type ImportTally, resultOf, total } from '../engine/tally.ts';
import { blocksOf, type Line } from './lines.ts';
import { unreadable, unwritableFile } from './paths.ts';

export type { Reject } from '../engine/rejects.ts';
export { ImportBusy } from '../engine/run.ts';
export type { ImportResult } from '../engine/tally.ts';

interface Common {
  readonly dryRun?: boolean;
  /** The public or external id of an organization. References are looked up only in this organization. */
  readonly organization?: string;
  /** Finds the records of erased people, which the import leaves out. Undefined if nobody was ever erased. */
  readonly digest?: PersonDigest | undefined;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Called at the end of the import for each problem of a rejected line, in the order of the lines. */
  readonly onReject?: (reject: Reject) => void;
}

export interface ImportOptions extends Common {
  /** The paths of the files to import. `-` means standard input. */
  readonly files: readonly string[];
  /** Continues an unfinished run of the same unchanged files. If no such run exists, starts a new run. */
  readonly resume?: boolean;
  /** The path of the NDJSON file that gets the problems of rejected lines, each as {file, line, pointer, code}. */
  readonly rejects?: string;
}

export interface RecordsOptions extends Common {
  /** Reports show this name as `file`, because the records come from no file. */
  readonly name?: string;
}

const HEAD = 65_536;
/**
 * How many bytes one read takes. Between short reads, Node can serve the socket to PostgreSQL. With 1 MiB, this socket
 * was idle for half of the reading time (measured).
 */
const BLOCK = 65_536;

/** An import can be repeated, interrupted or killed safely. In an organization, one import of files runs at a time. */
export async function importFiles(db: Database, options: ImportOptions): Promise<ImportResult> {
  const sources = await Promise.all(options.files.map(describe));
  const unwritable = options.rejects === undefined ? undefined : await unwritableFile(options.rejects, options.files);
  if (unwritable !== undefined) throw new Refused(unwritable);
  if (options.files.filter((file) => file === '-').length > 1)
    throw new Refused('Standard input can be read only once. Give `-` only once.');
  return inRun(db, options, sources, options.resume === true, async (stage, state) => {
    for (const [file, path] of options.files.entries()) {
      if (file < state.file) continue;
      const offset = file === state.file ? state.offset : 0;
      await stageFile(
        stage,
        { file, path, offset, line: file === state.file ? state.line : 0 },
        sources[file],
        options,
      );
    }
  });
}

/**
 * Imports records from memory, for example the demo's with their moved times. Such records cannot name files by path, and the run cannot be
 * resumed.
 */
export async function importRecords(
  db: Database,
  records: AsyncIterable<unknown> | Iterable<unknown>,
  options: RecordsOptions = {},
): Promise<ImportResult> {
  const source: FileIdentity = { name: options.name ?? 'records', size: null, modified: null, head: null };
  return inRun(db, options, [source], false, async (stage) => {
    let line = 0;
    for await (const record of records) {
      await stage.record({ file: 0, line: ++line }, record, null);
      if (!stage.full) continue;
      options.signal?.throwIfAborted();
      await stage.flush({ file: 0, offset: 0, line });
      options.onProgress?.({ phase: 'read', done: line, total: null });
    }
    await stage.flush({ file: 0, offset: 0, line });
  });
}

async function inRun(
  db: Database,
  options: Common & { readonly rejects?: string },
  sources: readonly FileIdentity[],
  resume: boolean,
  read: (stage: Stage, state: RunState) => Promise<void>,
): Promise<ImportResult> {
  const subject = JSON.stringify([options.organization ?? null, ...sources.map(identity)]);
  const run = await takeRun(db, { name: subject, checked: options.digest !== undefined }, options.signal);
  try {
    let state = await run.state();
    const continues = resume && options.dryRun !== true && canContinue(state, sources, options.organization);
    if (!continues) {
      await checkOrganization(db, options.organization);
      await run.begin(sources, options.organization);
      state = await run.state();
    }
    if (!state.staged) {
      const stage = new Stage(db, run, state.seq, options.digest);
      await read(stage, state);
      await stage.settled();
      await db.query(
        sql`UPDATE gateway.import_run SET staged = true WHERE slot = ${run.slot} AND epoch = ${run.epoch}`,
      );
      await db.query(sql`ANALYZE ${raw(run.place.stage)} (type, seq, external_id, owner)`);
    }
    if (options.dryRun === true) return await rehearse(db, run, options, sources);
    await apply(db, run, options.signal, (progress) => options.onProgress?.(progress));
    await run.finish();
    await report(options, sources, storedRejects(db, run));
    return await resultOf(db, run);
  } finally {
    await run.release();
  }
}

function canContinue(state: RunState, sources: readonly FileIdentity[], organization: string | undefined): boolean {
  if (!state.unfinished || !state.intact || state.organization !== (organization ?? null)) return false;
  const now = JSON.stringify(sources.map(identity));
  // Standard input cannot be read again. So such a run can continue only if all its lines are staged.
  const readable = state.staged || sources.every((source) => source.size !== null);
  return readable && now === JSON.stringify((state.sources ?? []).map(identity));
}

const identity = ({ name, size, modified, head }: FileIdentity): unknown[] => [name, size, modified, head];

async function rehearse(
  db: Database,
  run: Run,
  options: Common & { rejects?: string },
  sources: readonly FileIdentity[],
): Promise<ImportResult> {
  const steps = await rehearsal(db, run);
  const [row] = await db.query<{ outcome: { tally: ImportTally[]; rejects: StoredReject[] } }>(
    sql`SELECT gateway.import_rehearse(${run.slot}, ${steps}::text[], 100000) AS outcome`,
  );
  if (row === undefined) throw new Error('gateway.import_rehearse returned no row');
  await run.finish();
  await report(options, sources, [row.outcome.rejects]);
  return total(row.outcome.tally);
}

async function report(
  options: Common & { rejects?: string },
  sources: readonly FileIdentity[],
  pages: AsyncIterable<readonly StoredReject[]> | Iterable<readonly StoredReject[]>,
): Promise<void> {
  const { rejects: path } = options;
  if (path === undefined) return tell(options, sources, pages);
  // A random name and the flag `wx` create a new file. So the import neither follows a link nor changes another file.
  const partial = join(dirname(resolve(path)), `.rejects-${randomBytes(8).toString('hex')}.partial`);
  const file = await open(partial, 'wx');
  try {
    await tell(options, sources, pages, file).finally(() => file.close());
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

async function tell(
  options: Common,
  sources: readonly FileIdentity[],
  pages: AsyncIterable<readonly StoredReject[]> | Iterable<readonly StoredReject[]>,
  file?: FileHandle,
): Promise<void> {
  for await (const page of pages) {
    const rejects = page.map(({ file: n, line, pointer, code }) => ({
      ...{ file: sources[n]?.name ?? '', line, pointer, code },
    }));
    for (const reject of rejects) options.onReject?.(reject);
    await file?.write(rejects.map((reject) => `${JSON.stringify(reject)}\n`).join(''));
  }
}

async function checkOrganization(db: Database, organization: string | undefined): Promise<void> {
  if (organization === undefined || !/^org_[a-f0-9]{32}$/.test(organization)) return;
  const found = await db.query(
    sql`SELECT 1 FROM platform.organization WHERE ${organization} IN (public_id, external_id)`,
  );
  if (found.length === 0) throw new Refused('The organization does not exist.');
}

async function describe(path: string): Promise<FileIdentity> {
  if (path === '-') return { name: path, size: null, modified: null, head: null };
  try {
    const { size, mtimeMs: modified } = await stat(path);
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD), 0, HEAD, 0);
      const head = createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex');
      return { name: path, size, modified, head };
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new Refused(unreadable(path, error), { cause: error });
  }
}

async function stageFile(
  stage: Stage,
  from: { file: number; path: string; offset: number; line: number },
  source: FileIdentity | undefined,
  options: ImportOptions,
): Promise<void> {
  const { file, path, offset } = from;
  let { line } = from;
  const standard = path === '-';
  const folder = standard ? null : dirname(await realpath(path));
  const bytes = standard ? process.stdin : createReadStream(path, { start: offset, highWaterMark: BLOCK });
  let end = offset;
  for await (const block of blocksOf(bytes, offset)) {
    for (const text of block.lines) {
      const waits = stageLine(stage, { file, line: ++line }, text, folder);
      if (waits !== undefined) await waits;
    }
    end = block.end;
    if (!stage.full) continue;
    options.signal?.throwIfAborted();
    await stage.flush({ file, offset: end, line });
    options.onProgress?.({ phase: 'read', done: end, total: source?.size ?? null });
  }
  await stage.flush({ file: file + 1, offset: 0, line: 0 });
  options.onProgress?.({ phase: 'read', done: end, total: source?.size ?? null });
}

/** Like `Stage.record`, returns a promise only when the caller must wait. */
function stageLine(stage: Stage, at: At, line: Line, folder: string | null): Promise<void> | undefined {
  if (line.text === null) return stage.refuse(at, '', [{ pointer: '', code: line.code ?? 'invalid_utf8' }]);
  if (line.text.trim() === '') return undefined;
  const json = jsonOf(line.text);
  if (json === undefined) return stage.refuse(at, '', [{ pointer: '', code: 'invalid_json' }]);
  return stage.record(at, json, folder);
}
