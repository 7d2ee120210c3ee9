/**
 * SQL as pieces of text and the values between them. The store joins the pieces and writes `$1 … $n` for the values. A
 * value always travels as a parameter, so text from a caller never becomes SQL.
 */
export type Value = string | number | boolean | null | Date | Uint8Array | readonly (string | number | null)[];

export class Fragment {
  constructor(
    readonly texts: readonly string[],
    readonly values: readonly Value[],
    /**
     * Id of the app that the statement runs for. The store uses the id to share connections fairly among apps.
     * `undefined` means that the gateway runs the statement for itself.
     */
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

/** Marks SQL with the app that the SQL runs for. A statement that contains marked SQL has the same mark. */
export const runFor = (app: string, { texts, values }: Fragment): Fragment => new Fragment(texts, values, app);

/** Turns a constant of the program into SQL, such as a column name. Never pass text from a caller. */
export const raw = (text: string): Fragment => new Fragment([text], []);

export const empty: Fragment = raw('');

export function join(fragments: readonly Fragment[], separator: string): Fragment {
  return fragments.reduce((all, next, i) => (i === 0 ? next : sql`${all}${raw(separator)}${next}`), empty);
}

export function compile(fragment: Fragment): { text: string; values: Value[] } {
  const text = fragment.texts.reduce((all, next, i) => (i === 0 ? next : `${all}$${i}${next}`), '');
  return { text, values: [...fragment.values] };
}

/** Escapes a text for LIKE, so that `%`, `_` and `\` have no special meaning. */
export const likeLiteral = (text: string): string => text.replace(/[\\%_]/g, '\\$&');
