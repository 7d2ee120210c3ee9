/**
 * Makes untrusted text safe for a terminal. Replaces control characters and format characters, such as bidi overrides.
 */
export const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Surrogate}]/gu, '\u{fffd}');

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
