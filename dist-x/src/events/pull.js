import { wanting } from '../core/events.js';
import { AFTER_EXPECTED, Failure, invalidCursor } from '../core/failures.js';
import { scanJournals } from '../store/events/pull.js';
import { readCursor, writeCursor } from './cursors.js';
import { merge } from './merge.js';
import { receiptOf } from './receipts.js';
/** Retry-After (s) while an event family is paused. Operators resume it by hand, so an early retry is useless. */
const PAUSED_RETRY = 30;
const invalid = () => invalidCursor('after', AFTER_EXPECTED);
/**
 * Reads the page of receipts after a cursor, in one statement that also proves the authority. The pull operation and
 * the realtime socket use this function. The caller must first check that the authority may pull events.
 *
 * Throws `invalid_cursor` for a cursor of another subscription, credential or environment. Throws StaleAuthority if the
 * authority no longer holds. Returns the failures `not_found`, `subscription_corrupt`, `revision_changed`,
 * `replay_expired`, `event_family_paused` and `journal_unavailable`.
 */
export async function pullPage({ access, keys, eventKey }, { subscription, after, limit }) {
    const { authority } = access;
    const state = readCursor(keys, after);
    const own = state?.subscription === subscription &&
        state.credential === authority.credentialId &&
        state.environment === authority.environment;
    if (!state || !own)
        throw invalid();
    const [{ proof, answer: scan }, key] = await Promise.all([
        scanJournals(access, subscription, state.positions),
        eventKey(),
    ]);
    if (scan instanceof Failure)
        return { proof, answer: scan };
    const refused = refusalOf(scan, state);
    if (refused)
        return { proof, answer: refused };
    const scanned = scan.websites.map(({ website, rows }) => ({ website, rows, after: positionOf(state, website) }));
    const { taken, positions } = merge(scanned, wanting(scan.eventTypes), limit);
    const answer = {
        subscription_id: subscription,
        revision: scan.revision,
        events: taken.map(({ website, row }) => receiptOf(key, website, row)),
        next_cursor: writeCursor(keys, { ...state, positions }),
        has_more: scan.websites.some(({ website, head }) => head > (positions.get(website) ?? head)),
        retention: scan.websites.map(({ website, trimmed }) => ({
            website_id: website,
            retained_from: trimmed + 1,
            accepted_cursor: positionOf(state, website),
        })),
        coverage: scan.websites.map(({ website, reported }) => ({
            website_id: website,
            coverage: reported ? 'stored_events_only' : 'unreported',
        })),
    };
    return { proof, answer };
}
const positionOf = (state, website) => state.positions.get(website) ?? 0;
/** Why the receipts after these positions cannot be given. */
export function refusalOf(scan, state) {
    if (scan.revision !== state.revision)
        return new Failure('revision_changed');
    if (scan.websites.length !== state.positions.size)
        return invalid();
    for (const { website, head, trimmed } of scan.websites) {
        const position = state.positions.get(website);
        if (position === undefined)
            return invalid();
        // A position beyond the journal's end means that the store was restored to an earlier state. The client then has
        // receipts that no longer exist.
        if (position < trimmed || position > head)
            return new Failure('replay_expired');
    }
    // While one event family is paused, the client gets no receipts at all. The cursor stays valid.
    if (scan.paused)
        return new Failure('event_family_paused', { retryAfter: PAUSED_RETRY });
    for (const { website, rows, head } of scan.websites) {
        const position = positionOf(state, website);
        // Positions have no gaps. A missing receipt fails the read, because a client must not lose a receipt silently.
        const whole = rows.every((row, i) => row.position === position + i + 1);
        if (!whole || (head > position && rows.length === 0))
            return new Failure('journal_unavailable', { retryAfter: 1 });
    }
    return undefined;
}
//# sourceMappingURL=pull.js.map