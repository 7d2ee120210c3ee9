import { z } from 'zod';
import type { Authority } from '../../core/authority.ts';
import { EVENT_TYPE } from '../../core/events.ts';
import { Failure } from '../../core/failures.ts';
import { type Fragment, sql } from '../../core/sql.ts';
import type { Ending } from '../../core/writes.ts';
import { guard, StaleAuthority } from '../calls/guard.ts';
import { guarded, type ReadSession } from '../calls/read.ts';
import { type Database, mayRepeat, sqlState } from '../driver/postgres.ts';

type Session = Pick<ReadSession, 'db' | 'authority' | 'verified'>;

/**
 * gateway.subscription_state: a subscription and, in the order of its sites, the positions that its `start` means now.
 */
const Stored = z.object({
  id: z.string(),
  revision: z.int().min(1),
  sites: z.array(z.string()).min(1),
  event_types: z.array(z.string().regex(EVENT_TYPE)).min(1),
  start: z.enum(['beginning', 'retained']),
  paused: z.boolean(),
  /** Unix milliseconds. */
  created_at: z.int(),
  updated_at: z.int(),
  positions: z.array(z.int().min(0)),
});
export type StoredSubscription = z.output<typeof Stored>;

/** Parses the state of gateway.subscription_state. Throws `subscription_corrupt` when it is invalid. */
export function storedSubscription(state: unknown): StoredSubscription {
  const { data, error } = Stored.safeParse(state);
  if (data) return data;
  throw new Failure('subscription_corrupt', { cause: error });
}

const sitesOf = (authority: Authority): string[] => [...authority.websites.values()].map(({ site }) => site);

/** Whether a row `s` exists for this caller: it belongs to the installation and has only granted websites. */
export const visible = (authority: Authority): Fragment =>
  sql`s.installation_id = ${authority.installationId} AND s.sites <@ ${sitesOf(authority)}::bigint[]`;

const states = async (session: Session, condition: Fragment): Promise<StoredSubscription[]> => {
  const rows = await guarded<{ state: unknown }>(
    session,
    sql`d.state FROM ${guard(session.authority)} LEFT JOIN LATERAL (
      SELECT gateway.subscription_state(s) AS state, s.created_at, s.id FROM gateway.subscription s
       WHERE guard.ok AND ${visible(session.authority)} AND ${condition}
    ) d ON true ORDER BY d.created_at, d.id`,
  );
  return rows.flatMap(({ state }) => (state === null ? [] : [storedSubscription(state)]));
};

/** The caller's subscriptions, in order of creation. */
export const readSubscriptions = (session: Session): Promise<StoredSubscription[]> => states(session, sql`true`);

export async function readSubscription(session: Session, id: string): Promise<StoredSubscription> {
  const [state] = await states(session, sql`s.id = ${id}`);
  if (!state) throw new Failure('not_found');
  return state;
}

/** A write of a subscription as the store performs it. */
export type SubscriptionCommand =
  | ({ readonly operation: 'subscription_create'; readonly id: string } & StoredDefinition)
  | ({ readonly operation: 'subscription_replace'; readonly id: string; readonly revision: number } & StoredDefinition)
  | { readonly operation: 'subscription_delete'; readonly id: string; readonly revision: number };

export interface StoredDefinition {
  readonly sites: readonly string[];
  readonly event_types: readonly string[];
  readonly start: 'beginning' | 'retained';
}

/** The ledger entry of a write with an Idempotency-Key. */
export interface Place {
  readonly operationId: string;
  /** SHA-256 of input and revisions. */
  readonly fingerprint: Uint8Array;
}

/** The ledger's answer (store/calls/ledger.ts). These writes are never pending, and their outcome is always known. */
export type SubscriptionEntry =
  | { readonly state: 'new' | 'settled'; readonly outcome: Ending }
  | { readonly state: 'conflict' | 'forgotten' };

const UNDONE = /^(40P01|40001)$/;
const ATTEMPTS = 3;
const STALE = 'GW401';

/**
 * Performs a write, under its idempotency key if it has one. After a lost reply the write is repeated if it cannot take
 * effect twice. This holds under a key, and for a creation, whose id this call has made.
 */
export async function writeSubscription(
  db: Database,
  session: Session,
  tenant: string,
  command: SubscriptionCommand,
  place: Place | undefined,
): Promise<SubscriptionEntry> {
  const { authority } = session;
  const statement = sql`
    SELECT guard.ok, CASE WHEN guard.ok THEN gateway.subscription_once(
      ${authority.digest}, ${place?.operationId ?? null}::text, ${authority.credentialId}, ${authority.revision},
      ${authority.installationId}, ${tenant}, ${sitesOf(authority)}::bigint[], ${command.operation},
      ${place?.fingerprint ?? null}::bytea, ${JSON.stringify(command)}::text::jsonb) END AS entry
    FROM ${guard(authority)}`;
  const repeatable = place !== undefined || command.operation === 'subscription_create';
  for (let attempt = 1; ; attempt++) {
    try {
      const [row] = await db.query<{ ok: boolean; entry: SubscriptionEntry | null }>(statement);
      if (row?.ok !== true || !row.entry) throw new StaleAuthority();
      session.verified = true;
      // A repeated attempt finds the effect of this very call, which is no replay.
      return attempt > 1 && row.entry.state === 'settled' ? { ...row.entry, state: 'new' } : row.entry;
    } catch (error) {
      if (sqlState(error) === STALE) throw new StaleAuthority();
      const may = (repeatable && mayRepeat(error)) || UNDONE.test(sqlState(error));
      if (!may || attempt === ATTEMPTS) throw error;
    }
  }
}
