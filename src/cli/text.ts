/**
 * Makes untrusted text safe for a terminal. Replaces control characters and format characters, such as bidi overrides.
 */
export const plain = (text: string): string => text.replaceAll(UNPRINTABLE, '\u{fffd}');

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/gu;

/** Makes a text of several lines safe for a terminal. Everything that a command prints goes through here. */
export const printable = (text: string): string => text.split('\n').map(plain).join('\n');

/** A JSON text that a terminal can show. JSON.stringify escapes only the control characters of ASCII. */
export const printableJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(UNPRINTABLE, (letter) =>
    letter
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );

/** The name of an app. For a client that nobody registered, the host comes first, because the client chose the name. */
export const appOf = (clientHost: string | null, name: string): string =>
  clientHost === null ? plain(name) : `${plain(clientHost)} (${plain(name)})`;

export function facts(rows: readonly (readonly [name: string, value: string | readonly string[]])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows
    .flatMap(([name, value]) =>
      (typeof value === 'string' ? [value] : value).map(
        (line, i) => `  ${(i === 0 ? name : '').padEnd(width)}  ${line}`,
      ),
    )
    .join('\n');
}

export const time = (date: Date): string => date.toISOString();
