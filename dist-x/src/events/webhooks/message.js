/** The receipt as compact JSON, less than 1 KB. */
export const bodyOf = (receipt) => JSON.stringify({
    type: receipt.event_type,
    timestamp: new Date(receipt.occurred_at).toISOString(),
    data: receipt,
});
/** A delivery to a webhook that was made on the command line. */
export const webhookMessage = ({ receipt, number, test, gapSince, }) => ({
    id: receipt.event_id,
    body: bodyOf(receipt),
    headers: {
        'x-gateway-attempt': number,
        ...(test && { 'x-gateway-test': '1' }),
        ...(gapSince !== null && { 'x-gateway-gap-since': new Date(gapSince).toISOString() }),
    },
});
//# sourceMappingURL=message.js.map