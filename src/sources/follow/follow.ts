import { setTimeout as pause } from 'node:timers/promises';
import { keepInstallation } from '../../store/administration/sources.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { type Held, writePage } from '../engine/page.ts';
import { prepareChange } from '../engine/prepare.ts';
import { isSourceKind, SOURCE_KINDS } from '../kinds.ts';
import { PositionLost } from '../lost.ts';
import type { Change, Finding, Position, Source } from '../source.ts';
import { OTHER_INSTALLATION, SourceRefused } from './explain.ts';
import { type FileChange, load, writeFiles } from './load.ts';
import { type Bounds, LoadStopped } from './spent.ts';
import {
  beganComparison,
  compareLater,
  comparisonDue,
  gaveUp,
  keepFindings,
  keepLostPosition,
  keepPosition,
  keepUnmapped,
  loaded,
  requireLease,
  type SourceRow,
  succeeded,
  waitingRows,
} from './state.ts';

/**
 * Milliseconds after which a live source is read without a notification, because a notification can be lost. Also the
 * shortest pause between two polls.
 */
const LIVE = 1_000;
/** Milliseconds between two notes of how far behind the store is. */
const MEASURED = 1_000;
/** Milliseconds between two attempts at the rows that wait for other rows, and the number of rows in one attempt. */
const AGAIN = 1_000;
const WAITING = 1_000;
/**
 * Milliseconds until a comparison, when changes were lost again. Each further loss doubles the wait up to a minute. After
 * ten minutes without a loss, the next comparison starts at once.
 */
const LOST = 5_000;
const LOST_MOST = 60_000;
const FORGIVEN = 600_000;
/** Milliseconds between two looks whether a comparison is due. */
const LOOKED = 1_000;
/** Milliseconds between two checks of a source that is followed. Triggers that are gone note nothing and tell nothing. */
const CHECKED = 60_000;

export interface Stores {
  /** For leases and states. These statements must not wait for a page. */
  readonly db: Database;
  /** For pages and loads. */
  readonly writer: Database;
  /** Milliseconds between two checks of a source that is followed. Default: one minute. */
  readonly checkEvery?: number | undefined;
  /** Milliseconds after which a load yields to others that wait. Default: ten seconds. */
  readonly turn?: number | undefined;
  /** How long a load may take. */
  readonly bounds?: Bounds | undefined;
}

/** Loads a source if it is new, then follows it until the signal. Throws when the source cannot be read. */
export async function follow(stores: Stores, row: SourceRow, source: Source, signal: AbortSignal): Promise<void> {
  const held: Held = row;
  const { db, checkEvery = CHECKED } = stores;
  await examine(db, held, row, source);
  let { position } = row;
  if (position === null) {
    position = await source.begin();
    await keepPosition(db, held, position);
  }
  if (!row.loaded) await compare(stores, held, row, source, signal, true);

  const losses = { count: 0, at: 0 };
  let wake: () => void = () => undefined;
  const unlisten = source.listen(() => wake());
  try {
    const due = { measure: 0, again: 0, look: 0, check: performance.now() + checkEvery };
    while (!signal.aborted) {
      const began = performance.now();
      if (passed(due, 'check', checkEvery)) await examine(db, held, row, source);
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      try {
        position = await catchUp(stores, held, row, source, position, signal, due);
      } catch (error) {
        if (!(error instanceof PositionLost)) throw error;
        // Changes are lost, so everything is compared. The check finds out why, and the pause keeps a Chatwoot whose
        // triggers fail from being compared without an end.
        await examine(db, held, row, source);
        await pause(waitAfterLoss(losses), undefined, { signal });
        // `begin` writes in the helpdesk, so a removed source must not get there.
        await requireLease(db, held);
        position = await source.begin();
        await keepLostPosition(db, held, position);
      }
      if (passed(due, 'again', AGAIN)) await retryWaiting(stores, held, row, source, signal);
      if (passed(due, 'look', LOOKED) && (await comparisonDue(db, held)))
        await compare(stores, held, row, source, signal, false);
      // A period counts from the start of a round. A round that takes longer is followed by a pause.
      const wait = row.mode === 'poll' ? Math.max(LIVE, row.period * 1000 + began - performance.now()) : LIVE;
      const ended = new AbortController();
      const either = AbortSignal.any([signal, ended.signal]);
      // Ends early at a notification, and at the end of this process.
      await Promise.race([woken, pause(wait, undefined, { signal: either }).catch(() => undefined)]);
      ended.abort();
    }
  } finally {
    await unlisten();
  }
}

/** Checks the source. Throws if the source cannot be read. */
async function examine(db: Database, held: Held, row: SourceRow, source: Source): Promise<void> {
  const findings = [...(await source.check())];
  if (!findings.some(({ level }) => level === 'refused')) {
    const website = websiteOf(row);
    if (!(await keepInstallation(db, { tenant: held.tenant, website }, await source.installation())))
      findings.push({ level: 'refused', about: 'installation', text: OTHER_INSTALLATION });
  }
  await keepFindings(db, held, findings);
  const refused = findings.filter(({ level }) => level === 'refused');
  if (refused.length === 0) return;
  await compareLater(db, held);
  throw new SourceRefused(refused.map(sentence).join(' '));
}

/** The milliseconds to wait after a loss of changes. */
function waitAfterLoss(losses: { count: number; at: number }): number {
  if (performance.now() - losses.at > FORGIVEN) losses.count = 0;
  losses.at = performance.now();
  return losses.count++ === 0 ? 0 : Math.min(LOST_MOST, LOST * 2 ** (losses.count - 2));
}

type Due = Record<'measure' | 'again' | 'look' | 'check', number>;

/** True once in so many milliseconds. */
function passed(due: Due, name: keyof Due, every: number): boolean {
  if (performance.now() < due[name]) return false;
  due[name] = performance.now() + every;
  return true;
}

/** Reads and writes pages until the source has no more changes. */
async function catchUp(
  stores: Stores,
  held: Held,
  row: SourceRow,
  source: Source,
  from: Position,
  signal: AbortSignal,
  due: Due,
): Promise<Position> {
  const { db } = stores;
  for (let position = from; ; ) {
    signal.throwIfAborted();
    const page = await source.changes(position);
    if (page.changes.length > 0) await writeChanges(stores, held, row, page.changes, page.after, signal);
    // The next look at the changes lets the helpdesk forget what lies before this position. So the position is stored first.
    else if (page.after !== null && JSON.stringify(page.after) !== JSON.stringify(position))
      await keepPosition(db, held, page.after);
    if (page.after !== null) position = page.after;
    if (passed(due, 'measure', MEASURED)) {
      await succeeded(db, held, await source.behind(position));
    }
    if (!page.more) return position;
  }
}

/** Tries the rows again whose references were missing, as long as this lets some of them in. */
async function retryWaiting(
  stores: Stores,
  held: Held,
  row: SourceRow,
  source: Source,
  signal: AbortSignal,
): Promise<void> {
  for (let taken = 1; taken > 0; ) {
    signal.throwIfAborted();
    const waiting = await waitingRows(stores.db, held, WAITING);
    if (waiting.length === 0) return;
    taken = 0;
    for await (const changes of source.reread(waiting))
      taken += await writeChanges(stores, held, row, changes, null, signal);
  }
}

/**
 * Writes a page and returns the number of written records. Files with content follow the other changes, because their
 * messages must be written first.
 */
async function writeChanges(
  stores: Stores,
  held: Held,
  row: SourceRow,
  changes: readonly Change[],
  position: Position | null,
  signal: AbortSignal,
): Promise<number> {
  const files: FileChange[] = [];
  const others: Change[] = [];
  for (const change of changes) {
    const { from } = change;
    const prepared = 'only' in change || 'gone' in change ? undefined : prepareChange(change);
    if (prepared === undefined) others.push(change);
    else if ('file' in prepared) files.push({ from, file: prepared.file });
    else others.push({ from, prepared });
  }
  const { written } = await writePage(stores.writer, held, others, files.length === 0 ? position : null);
  if (files.length === 0) return written;
  const content = await writeFiles(stores, held, row, files, signal);
  if (position !== null) await keepPosition(stores.db, held, position);
  return written + content.written;
}

/** Loads or compares the whole source. Pages of changes wait meanwhile. */
async function compare(
  stores: Stores,
  held: Held,
  row: SourceRow,
  source: Source,
  signal: AbortSignal,
  resumes: boolean,
): Promise<void> {
  const { db } = stores;
  await beganComparison(db, held);
  try {
    const counts = await load(stores, held, row, source, { resumes, signal });
    await loaded(db, held, counts, websiteOf(row));
  } catch (error) {
    // The source is followed without this comparison. The next one is due a day later.
    if (resumes || !(error instanceof LoadStopped)) throw error;
    await gaveUp(db, held, error.message);
    return;
  }
  // A count that fails must not repeat the load. The next comparison counts again.
  const unmapped = await source.unmapped().catch(() => undefined);
  if (unmapped !== undefined) await keepUnmapped(db, held, unmapped);
}

const websiteOf = ({ kind, account }: SourceRow): string =>
  isSourceKind(kind) ? SOURCE_KINDS[kind].website(account).external_id : '';

const sentence = ({ text }: Finding): string => (text.endsWith('.') ? text : `${text}.`);
