import { compile, type Fragment, type Value } from '../../core/sql.ts';

/**
 * What goes to the driver and what comes back. V8 makes a closure that is assigned to a property where it is written in the
 * old generation, and the driver's `Query` makes two of them: each statement would keep its text and its rows until the next
 * major collection. Of 52 MB of rows 34 grew old, and 1.7 where they are out of its reach.
 */

type Parameter = string | number | boolean | null | Date | Uint8Array;

/** A statement as the driver takes it. */
export interface Sent {
  readonly text: string;
  readonly parameters: Parameter[];
}

/** Texts kept; there are some hundred. */
const TEXTS = 2_000;

/** Makes statements of fragments, with one string for all that have the same text. */
export function openStatements(): (fragment: Fragment) => Sent {
  const texts = new Map<string, string>();
  const one = (text: string): string => {
    const known = texts.get(text);
    if (known !== undefined) return known;
    if (texts.size >= TEXTS) texts.clear();
    texts.set(text, text);
    return text;
  };
  return (fragment) => {
    const { text, values } = compile(fragment);
    return { text: one(text), parameters: values.map(parameter) };
  };
}

const isList = (value: Value): value is readonly (string | number | null)[] => Array.isArray(value);

/** An array travels as PostgreSQL's array literal, and the statement says of what. */
const parameter = (value: Value): Parameter =>
  isList(value)
    ? `{${value.map((one) => (one === null ? 'NULL' : `"${String(one).replace(/["\\]/g, '\\$&')}"`)).join(',')}}`
    : value;

/** Rows on their way from the driver, which knows where they are added and not where they are, once they are taken. */
export function collecting<Row>(): { readonly add: (row: Row) => void; readonly taken: () => Row[] } {
  let rows: Row[] = [];
  return {
    add: (row) => {
      rows.push(row);
    },
    taken: () => {
      const all = rows;
      rows = [];
      return all;
    },
  };
}
