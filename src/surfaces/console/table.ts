import { type Html, html } from '../http/html.ts';
import { capital, plain } from '../http/pages/shell.ts';
import type { Asked, Exported, ShownPage } from './page.ts';
import { atMost } from './parts.ts';
import { FILE_ROWS, LIST_MAX, type ListQuery, PAGES, ROWS } from './query.ts';

/** The label of a column, or its label and kind. `number`: set to the right. `name`: the name of the row. */
type TableColumn = string | { readonly label: string; readonly kind: 'number' | 'name' };
export const nameColumn = (label: string): TableColumn => ({ label, kind: 'name' });
export const numberColumn = (label: string): TableColumn => ({ label, kind: 'number' });

type Cell = Html | string | number | undefined;

/** A table. On a phone each row becomes a card, whose cells name their columns. The roles keep the table for readers. */
export function table(caption: string, all: readonly TableColumn[], rows: readonly (readonly Cell[])[]): Html {
  const columns = all.map((one) => (typeof one === 'string' ? { label: one, kind: 'cell' } : one));
  return html`
<table role="table"><caption class="hidden">${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(
    ({ label, kind }) => html`<th role="columnheader" scope="col" class="${kind}">${label}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">${rows.map(
    (row) => html`
<tr role="row">${row.map((cell, i) => {
      const { label = '', kind = 'cell' } = columns[i] ?? {};
      // On a phone, a cell without a value would be a line that says nothing.
      return html`<td role="cell" class="${cell === undefined ? `${kind} none` : kind}" data-label="${label}"><div>${cell ?? '–'}</div></td>`;
    })}</tr>`,
  )}
</tbody></table>`;
}

/** A list without rows: what it is for, and what to do. */
export const empty = (title: string, advice: Html): Html => html`
<div class="empty"><p class="title">${title}</p>
<p>${advice}</p></div>`;

interface ListView {
  /** The address of the list, without a query. */
  readonly path: string;
  readonly query: ListQuery;
  /** What the list holds, such as `consent`, and its plural. */
  readonly noun: readonly [one: string, many: string];
  readonly total: number;
  readonly filters: readonly ListFilter[];
  /** The table. Not shown when the list is empty. */
  readonly table: Html;
  /** Shown when there is no row, and no filter. */
  readonly empty: Html;
}

export interface ListFilter {
  readonly name: string;
  readonly label: string;
  /** Choices of a select, as value and label. Absent for a text. */
  readonly choices?: readonly (readonly [value: string, label: string])[];
  /** The address may have another value, which filters too. So the form shows it, and keeps it when it is sent again. */
  readonly open?: true;
  /** What a text is. By default a text to search. */
  readonly type?: 'date';
  /** The label of the choice that does not filter. By default `All`. */
  readonly none?: string;
}

/** A list: filters, table, pages and export. */
export function list(view: ListView): Html {
  const { path, query, total, noun, filters } = view;
  const filtered = query.filtered(filters.map(({ name }) => name));
  const none =
    query.page > 1
      ? html`<div class="empty"><p class="title">There is no such page</p><p><a href="${path}${query.with({})}">Go to the first page</a></p></div>`
      : filtered
        ? html`<div class="empty"><p class="title">No ${noun[0]} matches</p><p><a href="${path}">Show all ${noun[1]}</a></p></div>`
        : view.empty;
  return html`${filters.length > 0 && (total > 0 || filtered) ? filterForm(path, query, filters, filtered) : undefined}
${total === 0 ? none : html`${view.table}${foot(view)}`}`;
}

/** The filters. On a phone they would stand before the records, so they are closed there. The summary tells which are set. */
export const filterForm = (
  path: string,
  query: ListQuery,
  filters: readonly ListFilter[],
  filtered: boolean,
): Html => html`
<details class="filters"><summary>Filter${filtered ? html`: <span class="set">${told(query, filters)}</span>` : undefined}</summary>
<form class="filters" method="get" action="${path}" role="search">${filters.map(
  ({ name, label, choices: listed, open, type = 'search', none = 'All' }) => {
    const value = query.text(name);
    const choices = open && listed ? withValue(listed, value) : listed;
    const id = `filter-${name}`;
    return html`
  <p><label for="${id}">${label}</label>${
    choices
      ? html`<select id="${id}" name="${name}"><option value="">${none}</option>${options(choices, value)}</select>`
      : html`<input id="${id}" name="${name}" type="${type}" value="${value ?? ''}" maxlength="200" autocomplete="off" spellcheck="false">`
  }</p>`;
  },
)}
  <p class="do"><button class="plain" type="submit">Filter</button>${filtered ? html` <a href="${path}">Clear</a>` : undefined}</p>
</form></details>`;

type Choices = NonNullable<ListFilter['choices']>;

/** Choices whose labels are their values with a capital. */
export const titled = (values: readonly string[]): Choices => values.map((value) => [value, capital(value)]);

/** The options of a select. */
export const options = (choices: Choices, chosen: string | undefined): Html[] =>
  choices.map(
    ([value, label]) =>
      html`<option value="${value}"${value === chosen ? html` selected` : undefined}>${label}</option>`,
  );

const withValue = (choices: Choices, value: string | undefined): Choices =>
  value === undefined || choices.some(([choice]) => choice === value)
    ? choices
    : [...choices, [value, plain(value, 60)]];

/** The filters that are set, such as `Role Operator, E-mail ada`. */
const told = (query: ListQuery, filters: readonly ListFilter[]): string =>
  filters
    .flatMap(({ name, label, choices: listed, open }) => {
      const value = query.text(name);
      const choices = open && listed ? withValue(listed, value) : listed;
      const word = choices ? choices.find(([choice]) => choice === value)?.[1] : value;
      return word === undefined ? [] : [`${label} ${plain(word, 60)}`];
    })
    .join(', ');

function foot({ path, query, total, noun, filters }: ListView): Html {
  const first = (query.page - 1) * ROWS + 1;
  const last = Math.min(total, LIST_MAX, first + ROWS - 1);
  const to = (page: number): string => `${path}${query.with({ page })}`;
  return html`
<div class="foot">
  <p>${total <= ROWS ? total : html`${first}–${last} of ${atMost(total)}`} ${noun[total === 1 ? 0 : 1]}${
    last < total && query.page === PAGES
      ? `. ${filters.length > 0 ? 'Use the filters to see older ones.' : 'The list ends here.'}`
      : undefined
  }</p>
  ${
    total > ROWS
      ? html`<nav aria-label="Pages">${query.page > 1 ? html`<a rel="prev" href="${to(query.page - 1)}">Previous</a>` : undefined}
    ${last < total && query.page < PAGES ? html`<a rel="next" href="${to(query.page + 1)}">Next</a>` : undefined}</nav>`
      : undefined
  }
  <p class="export">${
    total > FILE_ROWS
      ? html`${filters.length > 0 ? 'Filter the list to export it: a' : 'A'} file has at most ${atMost(FILE_ROWS)} ${noun[1]}`
      : html`Export <a href="${path}${query.with({ format: 'csv' })}">CSV</a> <a href="${path}${query.with({ format: 'ndjson' })}">NDJSON</a>`
  }</p>
</div>`;
}

/** The file of a list, if the request asks for one. A list that is too long gets a page that says what to do. */
export function exported(
  { query }: Asked,
  name: string,
  columns: Exported['columns'],
  rows: readonly Exported['rows'][number][],
): Exported | ShownPage | undefined {
  const { format } = query;
  if (format === undefined) return undefined;
  if (rows.length <= FILE_ROWS) return { name, format, columns, rows };
  const body = html`<h1>Too many rows</h1>
<p class="lead">A file has at most ${FILE_ROWS} rows. Filter the list, then export it again.</p>`;
  return { status: 400, title: 'Too many rows', body };
}
