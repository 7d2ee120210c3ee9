import type { OutboundMessage } from '../../outbound/sender.ts';
import type { Claim, McpTarget } from '../../store/events/deliveries.ts';
import type { CursorKeys } from '../cursors.ts';
import { cursorsOf } from './definition.ts';
import { occurrenceOf } from './occurrences.ts';
import { type EventsText, refused, wireError } from './refusals.ts';

/** What the sender of deliveries to MCP clients needs. */
export interface McpSending {
  readonly text: EventsText;
  /** The header `webhook-id` of an event: the event's id, or an id of the message. Clients and texts disagree. */
  readonly webhookId: 'event' | 'message';
  readonly keys: CursorKeys;
}

const SUBSCRIPTION_HEADER = 'x-mcp-subscription-id';

/** The message to a receiver that says: the gateway asks whether you want deliveries. */
export const verification = (subscription: string, challenge: string): OutboundMessage => ({
  id: `msg_verification_${challenge}`,
  body: JSON.stringify({ type: 'verification', challenge }),
  headers: { [SUBSCRIPTION_HEADER]: subscription },
});

/**
 * A delivery to a subscription of an MCP client: an event, or an envelope. A receipt of the type `gap` is the envelope
 * `gap`, as is the message that receipts were lost.
 */
export function mcpMessage(
  { text, webhookId, keys }: McpSending,
  { receipt, id }: Claim,
  target: McpTarget,
): OutboundMessage {
  const headers = { [SUBSCRIPTION_HEADER]: target.subscription };
  const { credential: credentialId, environment } = target;
  const cursor = cursorsOf(keys, { credentialId, environment }, target).write(
    new Map(Object.entries(target.positions)),
  );
  const envelope = (type: string, body: object): OutboundMessage => ({
    id: `msg_${type}_${id.replace('whd_', '')}`,
    body: JSON.stringify({ type, ...body }),
    headers,
  });
  if (receipt.event_type === 'mcp.terminated') {
    return envelope('terminated', { error: wireError(text, refused('Forbidden', { reason: 'Access revoked' })) });
  }
  if (receipt.event_type.endsWith('.gap')) return envelope('gap', { cursor });
  return {
    id: webhookId === 'event' ? receipt.event_id : `msg_event_${id.replace('whd_', '')}`,
    body: JSON.stringify({ ...occurrenceOf(receipt), cursor }),
    headers,
  };
}
