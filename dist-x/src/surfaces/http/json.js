/** How deeply a JSON body may be nested, and how many members it may have in total (check HT-11). */
const DEPTH = 32;
const MEMBERS = 1_000;
/** `ignoreBOM` keeps a byte order mark in the text, which JSON.parse then rejects. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/**
 * Parses a body as I-JSON (RFC 7493) with at most 32 levels and 1,000 members. Undefined for any other body. I-JSON is
 * UTF-8 without a byte order mark. It forbids duplicate members, numbers beyond a double, and lone surrogates.
 * JSON.parse would accept all three.
 */
export function parseJson(bytes) {
    try {
        const text = UTF8.decode(bytes);
        const members = membersOf(text);
        if (members === undefined)
            return undefined;
        const value = JSON.parse(text);
        return keysOf(value) === members ? { value } : undefined;
    }
    catch (error) {
        // A TypeError: the body is not UTF-8. A SyntaxError: it is not JSON.
        if (error instanceof TypeError || error instanceof SyntaxError)
            return undefined;
        throw error;
    }
}
const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;
const OPENING = new Set([91, 123]);
const CLOSING = new Set([93, 125]);
function membersOf(text) {
    let depth = 0;
    let members = 0;
    let inString = false;
    for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (inString) {
            if (code === BACKSLASH)
                i++;
            else if (code === QUOTE)
                inString = false;
        }
        else if (code === QUOTE)
            inString = true;
        else if (code === COLON)
            members++;
        else if (OPENING.has(code))
            depth++;
        else if (CLOSING.has(code))
            depth--;
        if (depth > DEPTH || members > MEMBERS)
            return undefined;
    }
    return members;
}
/**
 * Counts the members of a value at every depth. NaN if the value contains a lone surrogate or an infinite number: NaN
 * equals no expected count, so the caller refuses such a value.
 */
function keysOf(value) {
    if (typeof value === 'string')
        return value.isWellFormed() ? 0 : Number.NaN;
    if (typeof value === 'number')
        return Number.isFinite(value) ? 0 : Number.NaN;
    if (typeof value !== 'object' || value === null)
        return 0;
    let keys = 0;
    for (const [key, inside] of Object.entries(value))
        keys += keysOf(inside) + (Array.isArray(value) ? 0 : 1 + keysOf(key));
    return keys;
}
//# sourceMappingURL=json.js.map