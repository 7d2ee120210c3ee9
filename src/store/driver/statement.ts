import { compile, type Fragment, type Value } from '../../core/sql.ts';

/**
 * Keeps the rows of a statement out of long-lived memory. V8 allocates a closure in the old generation when a new
 * function is assigned directly to a property. The driver's `Query` makes two such closures. Through these closures,
 * each statement would keep its text and rows in memory until the next major collection.
 *
 * Measured with 52 MB of rows: without this file, 34 MB reached the old generation. With this file, 1.7 MB reached the
 * old generation.
 */

type BoundValue = string | number | boolean | null | Date | Uint8Array;

export interface Sent {
  readonly text: string;
  readonly parameters: BoundValue[];
  /** True if each row comes as a list of its values. */
  readonly lists: boolean;
}

/** The largest number of SQL texts that are kept. A gateway in normal use has some hundred. */
const TEXTS = 2_000;

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
    return { text: fragment.text ?? one(text), parameters: values.map(bound), lists: fragment.lists === true };
  };
}

const isList = (value: Value): value is readonly (string | number | null)[] => Array.isArray(value);

/** The form in which the driver takes a value. */
export const bound = (value: Value): BoundValue =>
  isList(value)
    ? `{${value.map((one) => (one === null ? 'NULL' : `"${String(one).replace(/["\\]/g, '\\$&')}"`)).join(',')}}`
    : value;

/** The driver keeps `add`, and through it the rows, until `taken` drops them. */
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
