import { sql } from '../../core/sql.js';
import { guarded, StaleAuthority } from '../calls/guard.js';
/** Makes or refreshes a subscription. A lost answer may be repeated: the second call refreshes. */
export async function subscribeMcp(access, { tenant, ...subscription }) {
    const { digest, revision, installationId, credentialId, consentId } = access.authority;
    const command = { ...subscription, credential: credentialId, consent: consentId };
    const { proof, rows } = await guarded(access, sql `CASE WHEN guard.ok THEN gateway.subscribe_mcp(
      ${digest}, ${revision}, ${installationId}, ${tenant}, ${JSON.stringify(command)}::text::jsonb) END AS answer`, undefined, 'query');
    const answer = rows[0]?.answer;
    if (!answer)
        throw new StaleAuthority();
    return { proof, answer };
}
/** Ends a subscription. False if there is none. */
export async function unsubscribeMcp(access, id) {
    const { proof, rows } = await guarded(access, sql `CASE WHEN guard.ok THEN gateway.unsubscribe_mcp(${id}) END AS found`, undefined, 'query');
    return { proof, answer: rows[0]?.found === true };
}
//# sourceMappingURL=mcp-subscriptions.js.map