import { familyOf } from '../../core/events.js';
export const occurrenceOf = (receipt) => ({
    eventId: receipt.event_id,
    name: familyOf(receipt.event_type),
    timestamp: new Date(receipt.occurred_at).toISOString(),
    data: receipt,
});
//# sourceMappingURL=occurrences.js.map