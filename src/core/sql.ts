/**
 * SQL as data: text pieces and the values between them. Views, tools and the store compose fragments. The store
 * compiles a fragment to `$1 … $n` text for the driver. A value can travel only as a parameter, so nothing that a
 * caller sends becomes SQL. A test can read every statement without a database.
 */
export type Value = string | number | boolean | null | Date | Uint8Array | readonly (string | number | null)[];

export class Fragment {
  constructor(
    readonly texts: readonly string[],
    readonly values: readonly Value[],
    /**
     * The app that the statement runs for. The driver shares connections fairly by app. `undefined`: the gateway's own
     * work.
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

/**
 * The same SQL, marked to run for an app. A guard is marked so, and the mark passes to every statement that contains
 * it.
 */
export const runFor = (app: string, { texts, values }: Fragment): Fragment => new Fragment(texts, values, app);

/** Inserts constant text of our own, such as a column or a table. Never pass text that came from a caller. */
export const raw = (text: string): Fragment => new Fragment([text], []);

export const empty: Fragment = raw('');

export function join(fragments: readonly Fragment[], separator: string): Fragment {
  return fragments.reduce((all, next, i) => (i === 0 ? next : sql`${all}${raw(separator)}${next}`), empty);
}

export function compile(fragment: Fragment): { text: string; values: Value[] } {
  const text = fragment.texts.reduce((all, next, i) => (i === 0 ? next : `${all}$${i}${next}`), '');
  return { text, values: [...fragment.values] };
}

/** Escapes text for LIKE, so that the pattern matches only this text. */
export const likeLiteral = (text: string): string => text.replace(/[\\%_]/g, '\\$&');
