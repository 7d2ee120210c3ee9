/**
 * Makes untrusted text safe for a terminal. Replaces control characters and format characters, such as bidi overrides.
 */
export const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Surrogate}]/gu, '\u{fffd}');

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
