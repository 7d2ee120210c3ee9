/**
 * SQL as data: pieces of text, and the values between the pieces. Views, tools and the store combine fragments. The
 * store turns a fragment into text with `$1 … $n` for the driver. A value always travels as a parameter, so text from a
 * caller never becomes SQL. A test can read every statement without a database.
 */
export type Value = string | number | boolean | null | Date | Uint8Array | readonly (string | number | null)[];

export class Fragment {
  constructor(
    readonly texts: readonly string[],
    readonly values: readonly Value[],
    /**
     * Id of the app that the statement runs for. The driver shares connections fairly among apps. `undefined` means
     * that the gateway runs the statement for itself.
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

/** Returns the same SQL with a mark that names the app. A statement that contains this SQL has the mark too. */
export const runFor = (app: string, { texts, values }: Fragment): Fragment => new Fragment(texts, values, app);

/** Inserts constant text of the gateway, such as the name of a column or table. Never pass text from a caller. */
export const raw = (text: string): Fragment => new Fragment([text], []);

export const empty: Fragment = raw('');

export function join(fragments: readonly Fragment[], separator: string): Fragment {
  return fragments.reduce((all, next, i) => (i === 0 ? next : sql`${all}${raw(separator)}${next}`), empty);
}

export function compile(fragment: Fragment): { text: string; values: Value[] } {
  const text = fragment.texts.reduce((all, next, i) => (i === 0 ? next : `${all}$${i}${next}`), '');
  return { text, values: [...fragment.values] };
}

/** Escapes text for a LIKE pattern. The pattern then matches this exact text. */
export const likeLiteral = (text: string): string => text.replace(/[\\%_]/g, '\\$&');
