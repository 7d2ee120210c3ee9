import { OAuthError } from '../../auth/oauth/errors.ts';
import { readParameters } from '../../auth/oauth/parameters.ts';
import { LIST_MAX, type Slice } from '../../gateway/console/administration.ts';

export { LIST_MAX };

/** Rows of a list on one page. */
export const ROWS = 25;
/** Rows of a file at most. A longer list is refused, so that no file silently lacks rows. */
export const FILE_ROWS = 5_000;
/** A list is counted to LIST_MAX, so it ends there. */
export const PAGES = LIST_MAX / ROWS;
const TEXT = 200;

export type Format = 'csv' | 'ndjson';

/**
 * The filters, the page number and the format in the address of a list. A parameter that the page does not know counts as
 * absent, because people edit addresses. An unknown value of a known one is refused: otherwise the list would show too much.
 */
export class ListQuery {
  readonly #parameters: ReadonlyMap<string, readonly string[]>;

  constructor(text: string) {
    const parameters = readParameters(text);
    // Without this, one bad character would silently drop all filters, and the list or file would show too much.
    if (!parameters) throw new OAuthError('invalid_request');
    this.#parameters = parameters;
  }

  text(name: string): string | undefined {
    const value = (this.#parameters.get(name)?.[0] ?? '').trim();
    return value === '' || value.length > TEXT ? undefined : value;
  }

  one<T extends string>(name: string, of: readonly T[]): T | undefined {
    const value = this.text(name);
    const known = of.find((one) => one === value);
    if (value !== undefined && known === undefined) throw new OAuthError('invalid_request');
    return known;
  }

  get page(): number {
    const page = /^[1-9]\d{0,3}$/.test(this.text('page') ?? '') ? Number(this.text('page')) : 1;
    return Math.min(page, PAGES);
  }

  get format(): Format | undefined {
    return this.one('format', ['csv', 'ndjson']);
  }

  /** The rows that the request asks for: one page, or all rows of a file and one more, which tells that it is too long. */
  get slice(): Slice {
    return this.format ? { limit: FILE_ROWS + 1, offset: 0 } : { limit: ROWS, offset: (this.page - 1) * ROWS };
  }

  /** True if the request filters the list by one of these parameters. */
  filtered(names: readonly string[]): boolean {
    return names.some((name) => this.text(name) !== undefined);
  }

  /** The query of an address with the same filters and other values. Undefined removes a value. */
  with(changes: Readonly<Record<string, string | number | undefined>>): string {
    const all = new Map<string, string>();
    for (const name of this.#parameters.keys()) {
      const value = this.text(name);
      if (value !== undefined && name !== 'page' && name !== 'format' && name !== 'done') all.set(name, value);
    }
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined) all.delete(name);
      else all.set(name, String(value));
    }
    const query = new URLSearchParams([...all]).toString();
    return query === '' ? '' : `?${query}`;
  }
}
