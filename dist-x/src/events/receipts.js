import { createHmac } from 'node:crypto';
/**
 * The id of a receipt. The key is stored and never rotated (ledgerKey in store/calls/ledger.ts), so every replica
 * computes the same id, even after a change of GATEWAY_KEYS.
 */
export const eventId = (key, website, position) => `evt_${createHmac('sha256', key).update(`${website} ${position}`).digest('hex')}`;
export const receiptOf = (key, website, row) => ({
    event_id: eventId(key, website, row.position),
    event_type: row.eventType,
    website_id: website,
    cursor: row.position,
    occurred_at: row.occurredAt,
    recorded_at: row.recordedAt,
});
//# sourceMappingURL=receipts.js.map