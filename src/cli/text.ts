/** Text that others wrote (names, external ids) on a terminal: control characters and bidi overrides do nothing. */
export const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Surrogate}]/gu, '\u{fffd}');

/** Lines `name  value`, aligned. A value that is a list is one line each; an empty one is left out. */
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
