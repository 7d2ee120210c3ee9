import { z } from 'zod';
import type { AuditDraft } from '../../core/audit.ts';
import type { Authority } from '../../core/authority.ts';
import { EVENT_TYPE } from '../../core/events.ts';
import { Failure } from '../../core/failures.ts';
import { type Fragment, sql } from '../../core/sql.ts';
import type { Ending } from '../../core/writes.ts';
import { auditedEntry } from '../calls/audited.ts';
import { type Access, guarded, guardedCall, type Proof, type Proved } from '../calls/guard.ts';
import { repeated } from '../driver/repeated.ts';

/** The result of gateway.subscription_state. `positions`: the start positions, in the order of `sites`. */
const Stored = z.object({
  id: z.string(),
  revision: z.int().min(1),
  sites: z.array(z.string()).min(1),
  event_types: z.array(z.string().regex(EVENT_TYPE)).min(1),
  start: z.enum(['beginning', 'retained', 'now']),
  paused: z.boolean(),
  /** The time of creation in Unix milliseconds. */
  created_at: z.int(),
  updated_at: z.int(),
  positions: z.array(z.int().min(0)),
});
export type StoredSubscription = z.output<typeof Stored>;

export function storedSubscription(state: unknown): StoredSubscription | Failure {
  const { data, error } = Stored.safeParse(state);
  return data ?? new Failure('subscription_corrupt', { cause: error });
}

const sitesOf = (authority: Authority): string[] => [...authority.websites.values()].map(({ site }) => site);

/** SQL condition: subscription `s` belongs to the caller's installation, and all its websites are granted. */
export const visible = (authority: Authority): Fragment =>
  sql`s.installation_id = ${authority.installationId} AND s.sites <@ ${sitesOf(authority)}::bigint[]`;

async function states(
  access: Access,
  condition: Fragment,
): Promise<{ readonly proof: Proof; readonly found: (StoredSubscription | Failure)[] }> {
  const { proof, rows } = await guarded<{ state: unknown }>(
    access,
    sql`d.state`,
    sql`LEFT JOIN LATERAL (
      SELECT gateway.subscription_state(s) AS state, s.created_at, s.id FROM gateway.subscription s
       WHERE guard.ok AND ${visible(access.authority)} AND ${condition}
    ) d ON true ORDER BY d.created_at, d.id`,
  );
  return { proof, found: rows.flatMap(({ state }) => (state === null ? [] : [storedSubscription(state)])) };
}

/** Returns the caller's subscriptions, oldest first. */
export async function readSubscriptions(access: Access): Promise<Proved<StoredSubscription[]>> {
  const { proof, found } = await states(access, sql`true`);
  const corrupt = found.find((one) => one instanceof Failure);
  return { proof, answer: corrupt ?? found.filter((one): one is StoredSubscription => !(one instanceof Failure)) };
}

export async function readSubscription(access: Access, id: string): Promise<Proved<StoredSubscription>> {
  const { proof, found } = await states(access, sql`s.id = ${id}`);
  return { proof, answer: found[0] ?? new Failure('not_found') };
}

export type SubscriptionCommand =
  | ({ readonly operation: 'subscription_create'; readonly id: string } & StoredDefinition)
  | ({ readonly operation: 'subscription_replace'; readonly id: string; readonly revision: number } & StoredDefinition)
  | { readonly operation: 'subscription_delete'; readonly id: string; readonly revision: number };

export interface StoredDefinition {
  readonly sites: readonly string[];
  readonly event_types: readonly string[];
  readonly start: 'beginning' | 'retained' | 'now';
}

export interface OperationKey {
  readonly operationId: string;
  readonly fingerprint: Uint8Array;
}

/** The ledger's answer. It is never pending, because the outcome of a subscription write is always known. */
export type SubscriptionEntry =
  | { readonly state: 'new' | 'settled'; readonly outcome: Ending }
  | { readonly state: 'conflict' | 'forgotten' };

/**
 * Performs a write of a subscription. Repeats it after a lost reply if it cannot take effect twice: with an idempotency
 * key, or for a creation, whose id this call has chosen.
 */
export async function writeSubscription(
  access: Access,
  tenant: string,
  command: SubscriptionCommand,
  operation: OperationKey | undefined,
  draft?: AuditDraft,
): Promise<Proved<SubscriptionEntry>> {
  const { digest, credentialId, revision, installationId } = access.authority;
  const call = sql`gateway.subscription_once(
      ${digest}, ${operation?.operationId ?? null}::text, ${credentialId}, ${revision},
      ${installationId}, ${tenant}, ${sitesOf(access.authority)}::bigint[], ${command.operation},
      ${operation?.fingerprint ?? null}::bytea, ${JSON.stringify(command)}::text::jsonb)`;
  const repeatable = operation !== undefined || command.operation === 'subscription_create';
  return repeated(async (attempt) => {
    const { proof, answer: entry } = await guardedCall<SubscriptionEntry>(access, auditedEntry(draft, attempt, call));
    // If a repeated attempt finds the effect of its own call, the answer is `new`, because the call is not a replay.
    return { proof, answer: attempt > 1 && entry.state === 'settled' ? { ...entry, state: 'new' } : entry };
  }, repeatable);
}
