/** The refusals of MCP events, a closed table: name, sentence for the client, and code in each text (docs/decisions/events.md). */
const REFUSALS = {
    InvalidParams: { message: 'A parameter has a wrong value.', current: -32602, sketch: -32602 },
    NotFound: { message: 'There is no such event or subscription.', current: -32023, sketch: -32011 },
    Forbidden: { message: 'The token may not subscribe to these events.', current: -32024, sketch: -32012 },
    ResourceExhausted: { message: 'A limit is reached. data.limit names it.', current: -32025, sketch: -32013 },
    Unsupported: { message: 'The gateway does not offer this. data.feature names it.', current: -32026, sketch: -32014 },
    CallbackEndpointError: {
        message: 'The receiver did not confirm that it wants deliveries. data.reason says why.',
        current: -32027,
        sketch: -32015,
    },
};
export const refused = (name, data) => ({
    refused: name,
    message: REFUSALS[name].message,
    ...(data && { data }),
});
/** The refusal as JSON-RPC tells it. */
export const wireError = (text, { refused: name, message, data }) => ({
    code: REFUSALS[name][text],
    message,
    ...(data && { data }),
});
//# sourceMappingURL=refusals.js.map