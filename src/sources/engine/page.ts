import { raw, sql } from '../../core/sql.ts';
import type { RejectRecord } from '../../store/administration/sources.ts';
import { sqlState } from '../../store/driver/errors.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { Change, Position } from '../source.ts';
import { AGAIN, isAboutData, pageSteps } from './apply.ts';
import { digestsOf, type PersonDigest } from './digests.ts';
import { prepareChange } from './prepare.ts';
import { RECORD_TYPES, type RecordType } from './records.ts';
import type { StagedRow } from './row.ts';
import { SourceLost } from './run.ts';
import { TABLES } from './tables.ts';
import type { ImportCounts } from './tally.ts';

/** A source that this process runs. Every write names the epoch of the lease. */
export interface HeldSource {
  readonly id: string;
  readonly tenant: number;
  readonly epoch: number;
  /** Finds the records of erased people, which pages leave out. Undefined if nobody was ever erased. */
  readonly digest?: PersonDigest | undefined;
}

export type Written = Omit<ImportCounts, 'read'>;

interface Staged extends StagedRow {
  readonly seq: number;
  readonly origin: string;
  readonly digests?: readonly string[] | undefined;
}

/**
 * The most characters of one transaction with several rows. The serving thread writes the rows as JSON, and the driver
 * copies them four times. 8 MiB held the event loop for 177 ms, 1 MiB for less than 45 ms (24 November 2026, `npx
 * vitest run test/hostile/poison/following.test.ts`).
 */
const SENT = 1024 * 1024;

const NONE: Written = { written: 0, unchanged: 0, removed: 0, rejected: 0, suppressed: 0 };

/**
 * Writes a page of a source in one transaction: its records, its removals, its rejects and the position after it. If
 * PostgreSQL cannot write the page, tries each half, so that one bad row does not stop the others. `position` is null
 * if the source does not move on.
 */
export async function writePage(
  db: Database,
  held: HeldSource,
  changes: readonly Change[],
  position: Position | null,
): Promise<Written> {
  const told = (await spelledOut(db, held, changes)).sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0));
  try {
    return await write(db, held, told, position);
  } catch (error) {
    if (!isAboutData(error)) throw error;
    const half = middle(told);
    if (half !== undefined) {
      const first = await writePage(db, held, told.slice(0, half), null);
      return sum(first, await writePage(db, held, told.slice(half), position));
    }
    const refused = told.map(({ from }) => ({ origin: from, pointer: '', code: 'unwritable' }));
    await send(db, held, { rows: '[]', origins: told.map(({ from }) => from), refused, steps: [], position });
    return { ...NONE, rejected: told.length };
  }
}

/** Where to halve changes that are in the order of their rows. Undefined if all changes are of one row. */
function middle(changes: readonly Spelled[]): number | undefined {
  const starts = changes.flatMap(({ from }, i) => (i > 0 && from !== changes[i - 1]?.from ? [i] : []));
  return starts[Math.floor(starts.length / 2)];
}

/** A change that names each removed record. */
type Spelled = Exclude<Change, { only: unknown }>;

type Only = Extract<Change, { only: unknown }>;

/** Replaces each "exactly these" by the stored records that are none of these. */
async function spelledOut(db: Database, { tenant }: HeldSource, changes: readonly Change[]): Promise<Spelled[]> {
  const all = changes.filter((change): change is Spelled => !('only' in change));
  const groups = new Map<string, Only[]>();
  for (const change of changes) {
    if (!('only' in change)) continue;
    const key = `${change.only.of} ${change.only.owner === undefined}`;
    groups.set(key, [...(groups.get(key) ?? []), change]);
  }
  const kept = new Map([...groups.values()].flat().map((change) => [change, new Set(change.keep)]));
  for (const group of groups.values()) {
    for (const { place, external_id } of await storedOf(db, tenant, group)) {
      const change = group[place - 1];
      if (change === undefined || kept.get(change)?.has(external_id) === true) continue;
      all.push({ from: change.from, gone: { of: change.only.of, external_id } });
    }
  }
  return all;
}

/**
 * Reads the stored records that changes of one type name, with the number of the change. Either all have an owner, or
 * none.
 */
async function storedOf(
  db: Database,
  tenant: number,
  group: readonly Only[],
): Promise<{ place: number; external_id: string }[]> {
  const [first] = group;
  const table = TABLES.find(({ name }) => name === first?.only.of);
  const of = raw(`platform.${first?.only.of}`);
  const prefixes = group.map(({ only }) => only.prefix);
  if (first?.only.owner === undefined) {
    // These operators compare bytes, as the index note_origin does.
    return db.read(sql`
      SELECT DISTINCT w.place::integer AS place, t.external_id FROM unnest(${prefixes}::text[]) WITH ORDINALITY AS w (prefix, place)
        JOIN ${of} t ON t.tenant = ${tenant} AND t.external_id ~>=~ w.prefix AND t.external_id ~<~ (w.prefix || '~')`);
  }
  const owners = group.map(({ only }) => only.owner ?? '');
  const owner = table?.owner.table ?? '';
  return db.read(sql`
    SELECT w.place::integer AS place, t.external_id
      FROM unnest(${prefixes}::text[], ${owners}::text[]) WITH ORDINALITY AS w (prefix, owner, place)
      JOIN ${raw(`platform.${owner}`)} o ON o.tenant = ${tenant} AND o.external_id = w.owner
      JOIN ${of} t ON t.tenant = o.tenant AND t.site = o.site AND ${raw(`t.${owner}_id`)} = o.id AND starts_with(t.external_id, w.prefix)`);
}

async function write(
  db: Database,
  held: HeldSource,
  changes: readonly Spelled[],
  position: Position | null,
): Promise<Written> {
  const refused: RejectRecord[] = [];
  // If a row is reported twice, the last report counts.
  const rows = new Map<string, Staged>();
  let seq = 0;
  const types = new Set<RecordType>();
  const removed = new Set<RecordType>();
  for (const change of changes) {
    const prepared = prepareChange(change);
    if ('refused' in prepared) {
      for (const { pointer, code } of prepared.refused) refused.push({ origin: change.from, pointer, code });
      continue;
    }
    if ('file' in prepared) throw new Error('a file with content is staged, and not written by a page');
    const { row } = prepared;
    types.add(row.type);
    if ('gone' in change) removed.add(change.gone.of);
    const key = 'gone' in change ? change.gone.of : row.type;
    rows.set(`${key} ${row.external_id}`, {
      ...row,
      ...{ seq: ++seq, origin: change.from },
      ...(held.digest !== undefined && { digests: digestsOf(held.digest, row) }),
    });
  }
  const origins = [...new Set(changes.map(({ from }) => from))];
  const steps = pageSteps(held.tenant, types, removed);
  let outcome: Written = { ...NONE, rejected: refused.length };
  for (const { text, last } of partsOf([...rows.values()])) {
    // The last part replaces the rejects of all rows. So if the page fails before its last part, no reject is lost.
    const told = last ? { origins, refused, position } : { origins: [], refused: [], position: null };
    const sent = await send(db, held, { ...told, rows: text, steps });
    refused.push(...sent.refused);
    outcome = sum(outcome, sent);
  }
  return outcome;
}

/**
 * Splits rows into JSON arrays, one for each transaction. One row of a helpdesk can have many records, for example a
 * note for each of ten thousand visitors. So a page can need several transactions. A record comes after the records to
 * which it refers, and removals come last.
 */
function* partsOf(rows: readonly Staged[]): Generator<{ readonly text: string; readonly last: boolean }> {
  let part: string[] = [];
  let length = 0;
  for (const row of rows.toSorted((a, b) => RECORD_TYPES.indexOf(a.type) - RECORD_TYPES.indexOf(b.type))) {
    const text = JSON.stringify(row);
    if (length > 0 && length + text.length > SENT) {
      yield { text: `[${part.join(',')}]`, last: false };
      part = [];
      length = 0;
    }
    part.push(text);
    length += text.length;
  }
  yield { text: `[${part.join(',')}]`, last: true };
}

interface SentRows {
  /** A JSON array of staged rows. */
  readonly rows: string;
  readonly origins: readonly string[];
  readonly refused: readonly RejectRecord[];
  readonly steps: readonly string[];
  readonly position: Position | null;
}

interface PageOutcome extends Written {
  readonly refused: readonly RejectRecord[];
}

async function send(db: Database, held: HeldSource, sent: SentRows): Promise<PageOutcome> {
  const { rows, origins, refused, steps, position } = sent;
  const at = position === null ? null : JSON.stringify(position);
  for (let attempt = 1; ; attempt++) {
    try {
      const [row] = await db.query<{ outcome: PageOutcome }>(sql`
        SELECT gateway.source_checked_page(${held.id}, ${held.epoch}, ${at}::text::jsonb, ${rows}::text::json,
          ${[...origins]}::text[], ${JSON.stringify(refused)}::text::jsonb, ${[...steps]}::text[],
          ${held.digest !== undefined}) AS outcome`);
      return row?.outcome ?? { ...NONE, refused: [] };
    } catch (error) {
      const state = sqlState(error);
      if (state === 'GW001') throw new SourceLost('another gateway runs this source now', { cause: error });
      if (attempt === 5 || !AGAIN.test(state)) throw error;
    }
  }
}

const sum = (a: Written, b: Written): Written => ({
  written: a.written + b.written,
  unchanged: a.unchanged + b.unchanged,
  removed: a.removed + b.removed,
  rejected: a.rejected + b.rejected,
  suppressed: a.suppressed + b.suppressed,
});
