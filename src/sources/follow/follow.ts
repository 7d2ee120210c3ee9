import { setTimeout as pause } from 'node:timers/promises';
import { pauseUpTo } from '../../flow/pause.ts';
import { keepInstallation } from '../../store/administration/sources.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { writePage } from '../engine/page.ts';
import { prepareChange } from '../engine/prepare.ts';
import { isSourceKind } from '../kinds.ts';
import { SOURCE_KINDS } from '../openers.ts';
import { type Change, type Finding, type Position, PositionLost, type Source } from '../source.ts';
import { OTHER_INSTALLATION, SourceRefused } from './explain.ts';
import { type FileChange, load, writeFiles } from './load.ts';
import { type LoadBounds, LoadStopped } from './spent.ts';
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
 * How long (ms) a live source waits for a notification, which can be lost. Also the shortest pause between two polls.
 */
const LIVE = 1_000;
/** Milliseconds between two records of how far behind the store is. */
const MEASURED = 1_000;
/** Milliseconds between two attempts to write rows that wait for other rows, and the rows in one attempt. */
const AGAIN = 1_000;
const WAITING = 1_000;
/**
 * How long (ms) a comparison waits if changes were lost again. Each further loss doubles it, up to a minute. After ten
 * minutes without a loss, the next comparison starts at once.
 */
const LOST = 5_000;
const LOST_MOST = 60_000;
const FORGIVEN = 600_000;
/** Milliseconds between two checks whether a comparison is due. */
const LOOKED = 1_000;
/** Milliseconds between two checks of a followed source. Only a check finds a missing trigger. */
const CHECKED = 60_000;

export interface Stores {
  /** For leases and states, because these statements must not wait until a page is written. */
  readonly db: Database;
  readonly writer: Database;
  /** Milliseconds between two checks of a followed source. Default: one minute. */
  readonly checkEvery?: number | undefined;
  /** How long (ms) a load keeps its slot while others wait for one. Default: ten seconds. */
  readonly turn?: number | undefined;
  /** How long a load may take. Default: BOUNDS. */
  readonly bounds?: LoadBounds | undefined;
}

/** What this process follows: the source as it is stored, its helpdesk, and the signal that ends the work. */
interface Followed {
  readonly stores: Stores;
  readonly row: SourceRow;
  readonly source: Source;
  readonly signal: AbortSignal;
}

/** Loads a source if it is new, then follows it until the signal. Throws when the source cannot be read. */
export async function follow(stores: Stores, row: SourceRow, source: Source, signal: AbortSignal): Promise<void> {
  const followed: Followed = { stores, row, source, signal };
  const { db, checkEvery = CHECKED } = stores;
  await examine(followed);
  let { position } = row;
  if (position === null) {
    position = await source.begin();
    await keepPosition(db, row, position);
  }
  if (!row.loaded) await compare(followed, true);

  const losses = { count: 0, at: 0 };
  let wake: () => void = () => undefined;
  const unlisten = source.listen(() => wake());
  try {
    const due = { measure: 0, again: 0, look: 0, check: performance.now() + checkEvery };
    while (!signal.aborted) {
      const began = performance.now();
      if (passed(due, 'check', checkEvery)) await examine(followed);
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      try {
        position = await catchUp(followed, position, due);
      } catch (error) {
        if (!(error instanceof PositionLost)) throw error;
        // Changes were lost, so compare everything. The check says why, and the pause prevents endless comparisons.
        await examine(followed);
        await pause(waitAfterLoss(losses), undefined, { signal });
        // `begin` writes in the helpdesk, so do not call it for a removed source.
        await requireLease(db, row);
        position = await source.begin();
        await keepLostPosition(db, row, position);
      }
      if (passed(due, 'again', AGAIN)) await retryWaiting(followed);
      if (passed(due, 'look', LOOKED) && (await comparisonDue(db, row))) await compare(followed, false);
      // A period counts from the start of a round. A round that takes longer is followed by a pause of LIVE.
      const wait = row.mode === 'poll' ? Math.max(LIVE, row.period * 1000 + began - performance.now()) : LIVE;
      // A notification, or the end of this process, ends the pause early.
      await pauseUpTo(wait, [woken], signal);
    }
  } finally {
    await unlisten();
  }
}

/** Checks the source. Throws if the source cannot be read. */
async function examine({ stores: { db }, row, source }: Followed): Promise<void> {
  const findings = [...(await source.check())];
  if (!findings.some(({ level }) => level === 'refused')) {
    const website = websiteOf(row);
    if (!(await keepInstallation(db, { tenant: row.tenant, website }, await source.installation())))
      findings.push({ level: 'refused', about: 'installation', text: OTHER_INSTALLATION });
  }
  await keepFindings(db, row, findings);
  const refused = findings.filter(({ level }) => level === 'refused');
  if (refused.length === 0) return;
  await compareLater(db, row);
  throw new SourceRefused(refused.map(sentence).join(' '));
}

/** How long (ms) to wait after a loss of changes. */
function waitAfterLoss(losses: { count: number; at: number }): number {
  if (performance.now() - losses.at > FORGIVEN) losses.count = 0;
  losses.at = performance.now();
  return losses.count++ === 0 ? 0 : Math.min(LOST_MOST, LOST * 2 ** (losses.count - 2));
}

type Due = Record<'measure' | 'again' | 'look' | 'check', number>;

/** True at most once in `every` milliseconds. */
function passed(due: Due, name: keyof Due, every: number): boolean {
  if (performance.now() < due[name]) return false;
  due[name] = performance.now() + every;
  return true;
}

/** Reads and writes pages until the source has no more changes. */
async function catchUp(followed: Followed, from: Position, due: Due): Promise<Position> {
  const { stores, row, source, signal } = followed;
  for (let position = from; ; ) {
    signal.throwIfAborted();
    const page = await source.changes(position);
    if (page.changes.length > 0) await writeChanges(followed, page.changes, page.after);
    // The next call of `changes` lets the helpdesk forget what lies before this position. So store the position first.
    else if (page.after !== null && JSON.stringify(page.after) !== JSON.stringify(position))
      await keepPosition(stores.db, row, page.after);
    if (page.after !== null) position = page.after;
    if (passed(due, 'measure', MEASURED)) await succeeded(stores.db, row, await source.behind(position));
    if (!page.more) return position;
  }
}

/** Writes the rows again whose references were missing, as long as this succeeds for some of them. */
async function retryWaiting(followed: Followed): Promise<void> {
  const { stores, row, source, signal } = followed;
  for (let taken = 1; taken > 0; ) {
    signal.throwIfAborted();
    const waiting = await waitingRows(stores.db, row, WAITING);
    if (waiting.length === 0) return;
    taken = 0;
    for await (const changes of source.reread(waiting)) taken += await writeChanges(followed, changes, null);
  }
}

/** Writes a page and returns the number of written records. Files with content come last, after their messages. */
async function writeChanges(
  { stores, row, signal }: Followed,
  changes: readonly Change[],
  position: Position | null,
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
  const { written } = await writePage(stores.writer, row, others, files.length === 0 ? position : null);
  if (files.length === 0) return written;
  const content = await writeFiles(stores.writer, row, files, signal);
  if (position !== null) await keepPosition(stores.db, row, position);
  return written + content.written;
}

/** Loads or compares the whole source. Pages of changes wait meanwhile. */
async function compare({ stores, row, source, signal }: Followed, resumes: boolean): Promise<void> {
  const { db } = stores;
  await beganComparison(db, row);
  try {
    const counts = await load(stores, row, source, { resumes, signal });
    await loaded(db, row, counts, websiteOf(row));
  } catch (error) {
    // The source is followed without this comparison. The next comparison is due a day later.
    if (resumes || !(error instanceof LoadStopped)) throw error;
    await gaveUp(db, row, error.message);
    return;
  }
  // An error in counting must not repeat the load. The next comparison counts again.
  const unmapped = await source.unmapped().catch(() => undefined);
  if (unmapped !== undefined) await keepUnmapped(db, row, unmapped);
}

const websiteOf = ({ kind, account }: SourceRow): string =>
  isSourceKind(kind) ? SOURCE_KINDS[kind].website(account).external_id : '';

const sentence = ({ text }: Finding): string => (text.endsWith('.') ? text : `${text}.`);
