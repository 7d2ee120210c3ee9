/** Largest depth of a JSON body, and largest number of its members (check HT-11). */
const DEPTH = 32;
const MEMBERS = 1_000;

/** The option `ignoreBOM` keeps a byte order mark in the text, so that JSON.parse rejects the text. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses a body as I-JSON (RFC 7493). The body must be UTF-8 without a byte order mark. Duplicate members, numbers
 * beyond a double and unpaired surrogates are not valid. The limits are 32 levels and 1,000 members. Returns
 * `undefined` for any other body. JSON.parse alone accepts such numbers, surrogates and sizes. It keeps the last of two
 * duplicate members.
 */
export function parseJson(bytes: Uint8Array): { readonly value: unknown } | undefined {
  try {
    const text = UTF8.decode(bytes);
    const members = membersOf(text);
    if (members === undefined) return undefined;
    const value: unknown = JSON.parse(text);
    return keysOf(value) === members ? { value } : undefined;
  } catch (error) {
    // A TypeError means that the body is not UTF-8. A SyntaxError means that the body is not JSON.
    if (error instanceof TypeError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;
const OPENING = new Set([91, 123]);
const CLOSING = new Set([93, 125]);

/** Counts the members in JSON text. Returns `undefined` when the text is too deep or has too many members. */
function membersOf(text: string): number | undefined {
  let depth = 0;
  let members = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === COLON) members++;
    else if (OPENING.has(code)) depth++;
    else if (CLOSING.has(code)) depth--;
    if (depth > DEPTH || members > MEMBERS) return undefined;
  }
  return members;
}

/** Counts the members of a value. Returns NaN, which equals no count, for a lone surrogate or an infinite number. */
function keysOf(value: unknown): number {
  if (typeof value === 'string') return value.isWellFormed() ? 0 : Number.NaN;
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : Number.NaN;
  if (typeof value !== 'object' || value === null) return 0;
  let keys = 0;
  for (const [key, inside] of Object.entries(value))
    keys += keysOf(inside) + (Array.isArray(value) ? 0 : 1 + keysOf(key));
  return keys;
}
