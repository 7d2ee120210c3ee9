/** Bounds of every JSON body (checks, HT-11). */
const DEPTH = 32;
const MEMBERS = 1_000;

/** Keeps a byte order mark in the text, where JSON does not allow it. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * A body as I-JSON (RFC 7493): UTF-8 without a byte order mark, no member twice, no number beyond a double, no
 * unpaired surrogate; at most 32 deep and 1,000 members. `undefined` for anything else: JSON.parse alone would keep
 * the last of two members and replace or admit the rest.
 */
export function parseJson(bytes: Uint8Array): { readonly value: unknown } | undefined {
  try {
    const text = UTF8.decode(bytes);
    const members = membersOf(text);
    if (members === undefined) return undefined;
    const value: unknown = JSON.parse(text);
    return keysOf(value) === members ? { value } : undefined;
  } catch (error) {
    // TypeError: not UTF-8; SyntaxError: not JSON.
    if (error instanceof TypeError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;
const OPENING = new Set([91, 123]);
const CLOSING = new Set([93, 125]);

/** How many members the text writes down; `undefined` where it is deeper or larger than it may be. */
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

/** How many members the value has; NaN, which equals nothing, where it holds what JSON should not say. */
function keysOf(value: unknown): number {
  if (typeof value === 'string') return value.isWellFormed() ? 0 : Number.NaN;
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : Number.NaN;
  if (typeof value !== 'object' || value === null) return 0;
  let keys = 0;
  for (const [key, inside] of Object.entries(value))
    keys += keysOf(inside) + (Array.isArray(value) ? 0 : 1 + keysOf(key));
  return keys;
}
