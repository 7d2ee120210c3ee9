import { z } from 'zod';
import { EVENT_TYPE } from '../../core/events.js';
import { Failure } from '../../core/failures.js';
import { sql } from '../../core/sql.js';
import { auditedEntry } from '../calls/audited.js';
import { guarded, StaleAuthority } from '../calls/guard.js';
import { repeated } from '../driver/repeated.js';
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
export function storedSubscription(state) {
    const { data, error } = Stored.safeParse(state);
    return data ?? new Failure('subscription_corrupt', { cause: error });
}
const sitesOf = (authority) => [...authority.websites.values()].map(({ site }) => site);
/** SQL condition: subscription `s` belongs to the caller's installation, and all its websites are granted. */
export const visible = (authority) => sql `s.installation_id = ${authority.installationId} AND s.sites <@ ${sitesOf(authority)}::bigint[]`;
async function states(access, condition) {
    const { proof, rows } = await guarded(access, sql `d.state`, sql `LEFT JOIN LATERAL (
      SELECT gateway.subscription_state(s) AS state, s.created_at, s.id FROM gateway.subscription s
       WHERE guard.ok AND ${visible(access.authority)} AND ${condition}
    ) d ON true ORDER BY d.created_at, d.id`);
    return { proof, found: rows.flatMap(({ state }) => (state === null ? [] : [storedSubscription(state)])) };
}
/** Returns the caller's subscriptions, oldest first. */
export async function readSubscriptions(access) {
    const { proof, found } = await states(access, sql `true`);
    const corrupt = found.find((one) => one instanceof Failure);
    return { proof, answer: corrupt ?? found.filter((one) => !(one instanceof Failure)) };
}
export async function readSubscription(access, id) {
    const { proof, found } = await states(access, sql `s.id = ${id}`);
    return { proof, answer: found[0] ?? new Failure('not_found') };
}
/**
 * Performs a write of a subscription. Repeats it after a lost reply if it cannot take effect twice: with an idempotency
 * key, or for a creation, whose id this call has chosen.
 */
export async function writeSubscription(access, tenant, command, operation, draft) {
    const { digest, credentialId, revision, installationId } = access.authority;
    const columns = (attempt) => sql `CASE WHEN guard.ok THEN ${auditedEntry(draft, attempt, sql `gateway.subscription_once(
      ${digest}, ${operation?.operationId ?? null}::text, ${credentialId}, ${revision},
      ${installationId}, ${tenant}, ${sitesOf(access.authority)}::bigint[], ${command.operation},
      ${operation?.fingerprint ?? null}::bytea, ${JSON.stringify(command)}::text::jsonb)`)} END AS entry`;
    const repeatable = operation !== undefined || command.operation === 'subscription_create';
    return repeated(async (attempt) => {
        const { proof, rows } = await guarded(access, columns(attempt), undefined, 'query');
        const entry = rows[0]?.entry;
        if (!entry)
            throw new StaleAuthority();
        // If a repeated attempt finds the effect of its own call, the answer is `new`, because the call is not a replay.
        return { proof, answer: attempt > 1 && entry.state === 'settled' ? { ...entry, state: 'new' } : entry };
    }, repeatable);
}
//# sourceMappingURL=subscriptions.js.map