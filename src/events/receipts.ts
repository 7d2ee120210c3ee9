import { createHmac } from 'node:crypto';
import type { EventReceipt } from '../core/events.ts';
import type { JournalRow } from '../store/events/pull.ts';

/**
 * The id of a receipt. The key is stored and never rotated (ledgerKey in store/calls/ledger.ts), so every replica
 * computes the same id, even after a change of GATEWAY_KEYS.
 */
export const eventId = (key: Uint8Array, website: string, position: number): string =>
  `evt_${createHmac('sha256', key).update(`${website} ${position}`).digest('hex')}`;

export const receiptOf = (key: Uint8Array, website: string, row: JournalRow): EventReceipt => ({
  event_id: eventId(key, website, row.position),
  event_type: row.eventType,
  website_id: website,
  cursor: row.position,
  occurred_at: row.occurredAt,
  recorded_at: row.recordedAt,
});
