import { wanting } from '../../core/events.js';
import { Failure } from '../../core/failures.js';
import { scanJournals } from '../../store/events/pull.js';
import { merge } from '../merge.js';
import { refusalOf } from '../pull.js';
import { receiptOf } from '../receipts.js';
import { cursorsOf, filterOf, websitesOf } from './definition.js';
import { occurrenceOf } from './occurrences.js';
import { refused } from './refusals.js';
const DEFAULT = 25;
const MOST = 100;
/** Milliseconds that a client waits between two polls. Each poll costs a unit of quota. */
const NEXT = 10_000;
/** While an event family is paused. Operators resume it by hand. */
const NEXT_PAUSED = 30_000;
/** Answers one poll. Nothing is stored: the cursor is the whole state. */
export async function poll({ db, keys, eventKey }, caller, request) {
    const { authority } = caller;
    const cursors = cursorsOf(keys, authority, request);
    const known = request.cursor === null ? new Map() : cursors.read(request.cursor);
    if (!known)
        return refused('InvalidParams', { cursor: 'the cursor of the last answer for this event, unchanged' });
    const websites = websitesOf(authority, request);
    if ('refused' in websites)
        return websites;
    const filter = filterOf(websites, request);
    const [scan, key] = await Promise.all([caller.take(scanJournals({ authority, db }, filter, known)), eventKey()]);
    const after = positionsIn(scan, known);
    const answer = (positions, more = {}) => ({
        events: [],
        cursor: cursors.write(positions),
        truncated: false,
        hasMore: scan.websites.some(({ website, head }) => head > (positions.get(website) ?? head)),
        nextPollMs: NEXT,
        ...more,
    });
    const refusal = refusalOf(scan, { revision: scan.revision, positions: after });
    // A gap is no error in this protocol: the client gets the nearest position that still exists.
    if (refusal?.code === 'replay_expired')
        return answer(nearest(scan, after), { truncated: true });
    if (refusal?.code === 'event_family_paused')
        return answer(after, { hasMore: false, nextPollMs: NEXT_PAUSED });
    if (refusal instanceof Failure)
        throw refusal;
    const scanned = scan.websites.map(({ website, rows }) => ({ website, rows, after: after.get(website) ?? 0 }));
    const limit = Math.min(request.maxEvents ?? DEFAULT, MOST);
    const { taken, positions } = merge(scanned, wanting(filter.eventTypes), limit);
    const oldest = request.maxAgeMs === undefined ? 0 : scan.now - request.maxAgeMs;
    const young = taken.filter(({ row }) => row.occurredAt >= oldest);
    return answer(positions, {
        events: young.map(({ website, row }) => occurrenceOf(receiptOf(key, website, row))),
        truncated: young.length < taken.length || young.some(({ row }) => row.eventType.endsWith('.gap')),
    });
}
/** The client's position in each journal. A website that the cursor does not name starts at the journal's end. */
const positionsIn = (scan, known) => new Map(scan.websites.map(({ website, head }) => [website, known.get(website) ?? head]));
const nearest = (scan, after) => new Map(scan.websites.map(({ website, head, trimmed }) => [
    website,
    Math.min(Math.max(after.get(website) ?? head, trimmed), head),
]));
//# sourceMappingURL=poll.js.map