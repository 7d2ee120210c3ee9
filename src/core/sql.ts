/**
 * SQL as pieces of text with values between them. The store joins the pieces and writes `$1 … $n` for the values. So
 * text from a caller never becomes SQL.
 */
export type Value = string | number | boolean | null | Date | Uint8Array | readonly (string | number | null)[];

export class Fragment {
  constructor(
    readonly texts: readonly string[],
    readonly values: readonly Value[],
    /** The app that the statement runs for. Apps share the connections fairly. Undefined: the gateway itself. */
    readonly app?: string,
  ) {}
}

export function sql(strings: TemplateStringsArray, ...parts: readonly (Value | Fragment)[]): Fragment {
  const texts = [strings[0] ?? ''];
  const values: Value[] = [];
  let app: string | undefined;
  parts.forEach((part, i) => {
    if (part instanceof Fragment) {
      app ??= part.app;
      texts[texts.length - 1] += part.texts[0] ?? '';
      texts.push(...part.texts.slice(1));
      values.push(...part.values);
    } else {
      texts.push('');
      values.push(part);
    }
    texts[texts.length - 1] += strings[i + 1] ?? '';
  });
  return new Fragment(texts, values, app);
}

/** Marks SQL with its app. A statement that contains marked SQL has the same mark. */
export const runFor = (app: string, { texts, values }: Fragment): Fragment => new Fragment(texts, values, app);

/** Turns a constant of the program, such as a column name, into SQL. Never pass text from a caller. */
export const raw = (text: string): Fragment => new Fragment([text], []);

export const empty: Fragment = raw('');

export function join(fragments: readonly Fragment[], separator: string): Fragment {
  return fragments.reduce((all, next, i) => (i === 0 ? next : sql`${all}${raw(separator)}${next}`), empty);
}

export function compile(fragment: Fragment): { text: string; values: Value[] } {
  const text = fragment.texts.reduce((all, next, i) => (i === 0 ? next : `${all}$${i}${next}`), '');
  return { text, values: [...fragment.values] };
}

/** Escapes `%`, `_` and `\` for LIKE. */
export const likeLiteral = (text: string): string => text.replace(/[\\%_]/g, '\\$&');
