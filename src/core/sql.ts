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
    /** True if each row of the answer is a list of its values. */
    readonly lists?: boolean,
    /** The whole text, if it is kept for many statements (`withValue`). */
    readonly text?: string,
    /** True if the statement is shared with no other read (`unshared`). */
    readonly alone?: boolean,
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
export const runFor = (app: string, { texts, values, lists, text }: Fragment): Fragment =>
  new Fragment(texts, values, app, lists, text);

/** A statement whose answer has lists in place of objects. A row of 27 columns takes 2 µs less. */
export const asLists = ({ texts, values, app }: Fragment): Fragment => new Fragment(texts, values, app, true);

/** A read that shares no statement with other reads, because PostgreSQL must know its values to plan it well. */
export const unshared = ({ texts, values, app, lists, text }: Fragment): Fragment =>
  new Fragment(texts, values, app, lists, text, true);

/** Turns a constant of the program, such as a column name, into SQL. Never pass text from a caller. */
export const raw = (text: string): Fragment => new Fragment([text], []);

export const empty: Fragment = raw('');

export function join(fragments: readonly Fragment[], separator: string): Fragment {
  return fragments.reduce((all, next, i) => (i === 0 ? next : sql`${all}${raw(separator)}${next}`), empty);
}

export function compile(fragment: Fragment): { text: string; values: Value[] } {
  const text = fragment.text ?? fragment.texts.reduce((all, next, i) => (i === 0 ? next : `${all}$${i}${next}`), '');
  return { text, values: [...fragment.values] };
}

/** The texts of kept statements, by their whole text. Callers keep thousands of statements, of some dozen texts. */
const shapes = new Map<string, { readonly text: string; readonly texts: readonly string[] }>();
const SHAPES = 1_000;

/** The statement with its whole text, to keep it. */
export function compiled(fragment: Fragment): Fragment {
  const { text } = compile(fragment);
  const shape = shapes.get(text) ?? { text, texts: fragment.texts };
  if (shapes.size >= SHAPES) shapes.clear();
  shapes.set(shape.text, shape);
  return new Fragment(shape.texts, fragment.values, fragment.app, fragment.lists, shape.text);
}

/** A kept statement with `value` in place of each value `place`. */
export const withValue = ({ texts, values, app, lists, text }: Fragment, place: Value, value: Value): Fragment =>
  new Fragment(
    texts,
    values.map((one) => (one === place ? value : one)),
    app,
    lists,
    text,
  );

/** Escapes `%`, `_` and `\` for LIKE. */
export const likeLiteral = (text: string): string => text.replace(/[\\%_]/g, '\\$&');
