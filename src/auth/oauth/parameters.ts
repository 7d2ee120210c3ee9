/** What a request holds under one name; several values only where the name was repeated. */
export type Parameters = ReadonlyMap<string, readonly string[]>;

// Control characters have no place in any parameter, and U+0000 none in PostgreSQL.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * application/x-www-form-urlencoded, strictly: every escape is one of UTF-8, and no value holds a control character.
 * `undefined` for anything else, which URLSearchParams would mend in silence.
 */
export function readParameters(text: string): Parameters | undefined {
  const found = new Map<string, string[]>();
  if (text === '') return found;
  try {
    for (const pair of text.split('&')) {
      const at = pair.indexOf('=');
      const name = decode(at === -1 ? pair : pair.slice(0, at));
      const value = at === -1 ? '' : decode(pair.slice(at + 1));
      if (name === '' || CONTROL.test(name) || CONTROL.test(value)) return undefined;
      const values = found.get(name);
      if (values) values.push(value);
      else found.set(name, [value]);
    }
    return found;
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

export const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '));

/** The one value of a parameter; `undefined` where it is missing, empty or repeated. */
export function single(parameters: Parameters, name: string): string | undefined {
  const [value, ...others] = parameters.get(name) ?? [];
  return others.length > 0 || value === '' ? undefined : value;
}
