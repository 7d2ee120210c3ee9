import { cursorsOf } from './definition.js';
import { occurrenceOf } from './occurrences.js';
import { refused, wireError } from './refusals.js';
const SUBSCRIPTION_HEADER = 'x-mcp-subscription-id';
/** The message to a receiver that says: the gateway asks whether you want deliveries. */
export const verification = (subscription, challenge) => ({
    id: `msg_verification_${challenge}`,
    body: JSON.stringify({ type: 'verification', challenge }),
    headers: { [SUBSCRIPTION_HEADER]: subscription },
});
/**
 * A delivery to a subscription of an MCP client: an event, or an envelope. A receipt of the type `gap` is the envelope
 * `gap`, as is the message that receipts were lost.
 */
export function mcpMessage({ text, webhookId, keys }, { receipt, id }, target) {
    const headers = { [SUBSCRIPTION_HEADER]: target.subscription };
    const { credential: credentialId, environment } = target;
    const cursor = cursorsOf(keys, { credentialId, environment }, target).write(new Map(Object.entries(target.positions)));
    const envelope = (type, body) => ({
        id: `msg_${type}_${id.replace('whd_', '')}`,
        body: JSON.stringify({ type, ...body }),
        headers,
    });
    if (receipt.event_type === 'mcp.terminated') {
        return envelope('terminated', { error: wireError(text, refused('Forbidden', { reason: 'Access revoked' })) });
    }
    if (receipt.event_type.endsWith('.gap'))
        return envelope('gap', { cursor });
    return {
        id: webhookId === 'event' ? receipt.event_id : `msg_event_${id.replace('whd_', '')}`,
        body: JSON.stringify({ ...occurrenceOf(receipt), cursor }),
        headers,
    };
}
//# sourceMappingURL=messages.js.map