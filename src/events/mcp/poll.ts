import { wanting } from '../../core/events.ts';
import { Failure } from '../../core/failures.ts';
import type { Caller } from '../../store/calls/caller.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { type Scan, scanJournals } from '../../store/events/pull.ts';
import type { CursorKeys } from '../cursors.ts';
import { merge } from '../merge.ts';
import { refusalOf } from '../pull.ts';
import { receiptOf } from '../receipts.ts';
import { cursorsOf, type EventsWanted, filterOf, websitesOf } from './definition.ts';
import { type Occurrence, occurrenceOf } from './occurrences.ts';
import { type EventsRefusal, refused } from './refusals.ts';

export interface PollRequest extends EventsWanted {
  /** Null: from now on. */
  readonly cursor: string | null;
  readonly maxAgeMs: number | undefined;
  readonly maxEvents: number | undefined;
}

export interface EventsPage {
  readonly events: readonly Occurrence[];
  readonly cursor: string;
  readonly truncated: boolean;
  readonly hasMore: boolean;
  readonly nextPollMs: number;
}

export interface PollContext {
  readonly db: Database;
  readonly keys: CursorKeys;
  readonly eventKey: () => Promise<Uint8Array>;
}

const DEFAULT = 25;
const MOST = 100;
/** Milliseconds that a client waits between two polls. Each poll costs a unit of quota. */
const NEXT = 10_000;
/** While an event family is paused. Operators resume it by hand. */
const NEXT_PAUSED = 30_000;

/** Answers one poll. Nothing is stored: the cursor is the whole state. */
export async function poll(
  { db, keys, eventKey }: PollContext,
  caller: Caller,
  request: PollRequest,
): Promise<EventsPage | EventsRefusal> {
  const { authority } = caller;
  const cursors = cursorsOf(keys, authority, request);
  const known = request.cursor === null ? new Map<string, number>() : cursors.read(request.cursor);
  if (!known) return refused('InvalidParams', { cursor: 'the cursor of the last answer for this event, unchanged' });
  const websites = websitesOf(authority, request);
  if ('refused' in websites) return websites;
  const filter = filterOf(websites, request);
  const [scan, key] = await Promise.all([caller.take(scanJournals({ authority, db }, filter, known)), eventKey()]);
  const after = positionsIn(scan, known);
  // The cursor is from a time when the credential did not hold one of these websites. Its receipts since then are left out.
  const uncovered = request.cursor !== null && websites.some(({ id }) => !known.has(id));
  const answer = (positions: ReadonlyMap<string, number>, more: Partial<EventsPage> = {}): EventsPage => ({
    events: [],
    cursor: cursors.write(positions),
    truncated: uncovered,
    hasMore: scan.websites.some(({ website, head }) => head > (positions.get(website) ?? head)),
    nextPollMs: NEXT,
    ...more,
  });
  const refusal = refusalOf(scan, { revision: scan.revision, positions: after });
  // A gap is no error in this protocol: the client gets the nearest position that still exists.
  if (refusal?.code === 'replay_expired') return answer(nearest(scan, after), { truncated: true });
  if (refusal?.code === 'event_family_paused') return answer(after, { hasMore: false, nextPollMs: NEXT_PAUSED });
  if (refusal instanceof Failure) throw refusal;

  const scanned = scan.websites.map(({ website, rows }) => ({ website, rows, after: after.get(website) ?? 0 }));
  const limit = Math.min(request.maxEvents ?? DEFAULT, MOST);
  const { taken, positions } = merge(scanned, wanting(filter.eventTypes), limit);
  const oldest = request.maxAgeMs === undefined ? 0 : scan.now - request.maxAgeMs;
  const young = taken.filter(({ row }) => row.recordedAt >= oldest);
  return answer(positions, {
    events: young.map(({ website, row }) => occurrenceOf(receiptOf(key, website, row))),
    truncated: uncovered || young.length < taken.length || young.some(({ row }) => row.eventType.endsWith('.gap')),
  });
}

/** The client's position in each journal. A website that the cursor does not name starts at the journal's end. */
const positionsIn = (scan: Scan, known: ReadonlyMap<string, number>): ReadonlyMap<string, number> =>
  new Map(scan.websites.map(({ website, head }) => [website, known.get(website) ?? head]));

const nearest = (scan: Scan, after: ReadonlyMap<string, number>): ReadonlyMap<string, number> =>
  new Map(
    scan.websites.map(({ website, head, trimmed }) => [
      website,
      Math.min(Math.max(after.get(website) ?? head, trimmed), head),
    ]),
  );
