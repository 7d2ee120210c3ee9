export const EVENT_FAMILIES = [
    'conversation',
    'visitor',
    'operator',
    'queue',
    'website',
    'privacy',
    'capture',
];
export const EVENT_KINDS = ['changed', 'removed', 'snapshot', 'gap', 'heartbeat'];
/** Matches an exact event type or a wildcard for a family, such as `conversation.*`. */
export const EVENT_TYPE = new RegExp(`^(?:${EVENT_FAMILIES.join('|')})\\.(?:${EVENT_KINDS.join('|')}|\\*)$`);
/** An event for webhooks only: a write waits for an approval. It is no change of a record, so no journal has it. */
export const APPROVAL_REQUESTED = 'approval.requested';
export const familyOf = (eventType) => eventType.slice(0, eventType.indexOf('.'));
/** The filter accepts a type that is in `eventTypes`, or whose family's wildcard is there. */
export function wanting(eventTypes) {
    const asked = new Set(eventTypes);
    return (eventType) => asked.has(eventType) || asked.has(`${familyOf(eventType)}.*`);
}
//# sourceMappingURL=events.js.map