import { type EventReceipt, familyOf } from '../../core/events.ts';

/** A receipt as MCP events carry it. `eventId` is the receipt's own id, the same on every interface. */
export interface Occurrence {
  readonly eventId: string;
  readonly name: string;
  /** When it happened, in ISO 8601. */
  readonly timestamp: string;
  readonly data: EventReceipt;
  readonly cursor?: string;
}

export const occurrenceOf = (receipt: EventReceipt): Occurrence => ({
  eventId: receipt.event_id,
  name: familyOf(receipt.event_type),
  timestamp: new Date(receipt.occurred_at).toISOString(),
  data: receipt,
});
