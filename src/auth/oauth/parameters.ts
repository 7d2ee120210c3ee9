import { decodedForm } from '../../core/decoded.ts';

/**
 * The values of each parameter, by the parameter's name. A name has more than one value only if the request repeats the
 * parameter.
 */
export type Parameters = ReadonlyMap<string, readonly string[]>;

// A parameter must not contain a control character. PostgreSQL cannot store U+0000.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for control characters
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * Parses application/x-www-form-urlencoded text strictly. Returns `undefined` for an empty name, an escape that is not
 * valid UTF-8, or a control character. URLSearchParams would silently repair such a text.
 */
export function readParameters(text: string): Parameters | undefined {
  const found = new Map<string, string[]>();
  if (text === '') return found;
  for (const pair of text.split('&')) {
    const at = pair.indexOf('=');
    const name = decodedForm(at === -1 ? pair : pair.slice(0, at));
    const value = at === -1 ? '' : decodedForm(pair.slice(at + 1));
    if (!name || value === undefined || CONTROL.test(name) || CONTROL.test(value)) return undefined;
    const values = found.get(name);
    if (values) values.push(value);
    else found.set(name, [value]);
  }
  return found;
}

/** Returns the only value of a parameter. Returns `undefined` if the parameter is missing, empty or repeated. */
export function single(parameters: Parameters, name: string): string | undefined {
  const [value, ...others] = parameters.get(name) ?? [];
  return others.length > 0 || value === '' ? undefined : value;
}
