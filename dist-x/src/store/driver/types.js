import { parse } from 'postgres-array';
/** The type ids of int4[], text[] and int8[]. Their members arrive as text, like a single int8. */
const ARRAYS = [1007, 1009, 1016];
/** How arrays of the gateway's own store arrive. The driver parses JSON itself. */
export const PARSED = {
    arrays: { to: 1009, from: ARRAYS, serialize: (value) => value, parse: (text) => parse(text) },
};
/**
 * A foreign server chooses the type of each value. `postgres-array` never ends at an array without its last quotation
 * mark, and 16 MiB of JSON take half a second (24 November 2026). So both stay text.
 */
export const AS_TEXT = {
    json: { to: 114, from: [114, 3802], serialize: (value) => value, parse: (text) => text },
};
//# sourceMappingURL=types.js.map