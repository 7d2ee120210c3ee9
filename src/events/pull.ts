import { type EventPage, type PullRequest, wanting } from '../core/events.ts';
import { AFTER_EXPECTED, Failure, invalidCursor } from '../core/failures.ts';
import type { Access, Proved } from '../store/calls/guard.ts';
import { type Scan, scanJournals } from '../store/events/pull.ts';
import { type CursorKeys, type CursorState, readCursor, writeCursor } from './cursors.ts';
import { merge } from './merge.ts';
import { receiptOf } from './receipts.ts';

export interface PullContext {
  readonly access: Access;
  readonly keys: CursorKeys;
  /** The store's own key, from which event ids are computed (ledgerKey in store/calls/ledger.ts). */
  readonly eventKey: () => Promise<Uint8Array>;
}

/** Retry-After (s) while an event family is paused. Operators resume it by hand, so an early retry is useless. */
const PAUSED_RETRY = 30;

const invalid = (): Failure => invalidCursor('after', AFTER_EXPECTED);

/**
 * Reads the page of receipts after a cursor, in one statement that also proves the authority. The pull operation and
 * the realtime socket use this function. The caller must first check that the authority may pull events.
 *
 * Throws `invalid_cursor` for a cursor of another subscription, credential or environment. Throws StaleAuthority if the
 * authority no longer holds. Returns the failures `not_found`, `subscription_corrupt`, `revision_changed`,
 * `replay_expired`, `event_family_paused` and `journal_unavailable`.
 */
export async function pullPage(
  { access, keys, eventKey }: PullContext,
  { subscription, after, limit }: PullRequest,
): Promise<Proved<EventPage>> {
  const { authority } = access;
  const state = readCursor(keys, after);
  const own =
    state?.subscription === subscription &&
    state.credential === authority.credentialId &&
    state.environment === authority.environment;
  if (!state || !own) throw invalid();
  const [{ proof, answer: scan }, key] = await Promise.all([
    scanJournals(access, subscription, state.positions),
    eventKey(),
  ]);
  if (scan instanceof Failure) return { proof, answer: scan };
  const refused = refusalOf(scan, state);
  if (refused) return { proof, answer: refused };

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
      coverage: reported ? ('stored_events_only' as const) : ('unreported' as const),
    })),
  };
  return { proof, answer };
}

const positionOf = (state: Pick<CursorState, 'positions'>, website: string): number =>
  state.positions.get(website) ?? 0;

/** Why the receipts after these positions cannot be given. */
export function refusalOf(scan: Scan, state: Pick<CursorState, 'revision' | 'positions'>): Failure | undefined {
  if (scan.revision !== state.revision) return new Failure('revision_changed');
  if (scan.websites.length !== state.positions.size) return invalid();
  for (const { website, head, trimmed } of scan.websites) {
    const position = state.positions.get(website);
    if (position === undefined) return invalid();
    // A position beyond the journal's end means that the store was restored to an earlier state. The client then has
    // receipts that no longer exist.
    if (position < trimmed || position > head) return new Failure('replay_expired');
  }
  // While one event family is paused, the client gets no receipts at all. The cursor stays valid.
  if (scan.paused) return new Failure('event_family_paused', { retryAfter: PAUSED_RETRY });
  for (const { website, rows, head } of scan.websites) {
    const position = positionOf(state, website);
    // Positions have no gaps. A missing receipt fails the read, because a client must not lose a receipt silently.
    const whole = rows.every((row, i) => row.position === position + i + 1);
    if (!whole || (head > position && rows.length === 0)) return new Failure('journal_unavailable', { retryAfter: 1 });
  }
  return undefined;
}
