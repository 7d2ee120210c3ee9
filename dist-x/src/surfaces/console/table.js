import { html } from '../http/html.js';
import { plain } from '../http/pages/shell.js';
import { atMost } from './parts.js';
import { FILE_ROWS, LIST_MAX, PAGES, ROWS } from './query.js';
/** A table. On a phone each row becomes a card, whose cells name their columns. The roles keep the table for readers. */
export const table = (caption, columns, rows) => html `
<table role="table"><caption class="hidden">${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(({ label, kind = 'cell' }) => html `<th role="columnheader" scope="col" class="${kind}">${label}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => html `
<tr role="row">${row.map((cell, i) => {
    const { label = '', kind = 'cell' } = columns[i] ?? {};
    // On a phone, a cell without a value would be a line that says nothing.
    return html `<td role="cell" class="${cell === undefined ? `${kind} none` : kind}" data-label="${label}"><div>${cell ?? '–'}</div></td>`;
})}</tr>`)}
</tbody></table>`;
/** A list without rows: what it is for, and what to do. */
export const empty = (title, advice) => html `
<div class="empty"><p class="title">${title}</p>
<p>${advice}</p></div>`;
/** A list: filters, table, pages and export. */
export function list(view) {
    const { path, query, total, noun, filters } = view;
    const filtered = query.filtered(filters.map(({ name }) => name));
    const none = query.page > 1
        ? html `<div class="empty"><p class="title">There is no such page</p><p><a href="${path}${query.with({})}">Go to the first page</a></p></div>`
        : filtered
            ? html `<div class="empty"><p class="title">No ${noun[0]} matches</p><p><a href="${path}">Show all ${noun[1]}</a></p></div>`
            : view.empty;
    return html `${filters.length > 0 && (total > 0 || filtered) ? filterForm(path, query, filters, filtered) : undefined}
${total === 0 ? none : html `${view.table}${foot(view)}`}`;
}
/** The filters. On a phone they would stand before the records, so they are closed there. The summary tells which are set. */
export const filterForm = (path, query, filters, filtered) => html `
<details class="filters"><summary>Filter${filtered ? html `: <span class="set">${told(query, filters)}</span>` : undefined}</summary>
<form class="filters" method="get" action="${path}" role="search">${filters.map(({ name, label, choices, type = 'search', none = 'All' }) => {
    const value = query.text(name);
    const id = `filter-${name}`;
    return html `
  <p><label for="${id}">${label}</label>${choices
        ? html `<select id="${id}" name="${name}"><option value="">${none}</option>${choices.map(([choice, text]) => html `<option value="${choice}"${choice === value ? html ` selected` : undefined}>${text}</option>`)}</select>`
        : html `<input id="${id}" name="${name}" type="${type}" value="${value ?? ''}" maxlength="200" autocomplete="off" spellcheck="false">`}</p>`;
})}
  <p class="do"><button class="plain" type="submit">Filter</button>${filtered ? html ` <a href="${path}">Clear</a>` : undefined}</p>
</form></details>`;
/** The filters that are set, such as `Role Operator, E-mail ada`. */
const told = (query, filters) => filters
    .flatMap(({ name, label, choices }) => {
    const value = query.text(name);
    const word = choices ? choices.find(([choice]) => choice === value)?.[1] : value;
    return word === undefined ? [] : [`${label} ${plain(word, 60)}`];
})
    .join(', ');
function foot({ path, query, total, noun, filters }) {
    const first = (query.page - 1) * ROWS + 1;
    const last = Math.min(total, LIST_MAX, first + ROWS - 1);
    const to = (page) => `${path}${query.with({ page })}`;
    return html `
<div class="foot">
  <p>${total <= ROWS ? total : html `${first}–${last} of ${atMost(total)}`} ${noun[total === 1 ? 0 : 1]}${last < total && query.page === PAGES
        ? `. ${filters.length > 0 ? 'Use the filters to see older ones.' : 'The list ends here.'}`
        : undefined}</p>
  ${total > ROWS
        ? html `<nav aria-label="Pages">${query.page > 1 ? html `<a rel="prev" href="${to(query.page - 1)}">Previous</a>` : undefined}
    ${last < total && query.page < PAGES ? html `<a rel="next" href="${to(query.page + 1)}">Next</a>` : undefined}</nav>`
        : undefined}
  <p class="export">${total > FILE_ROWS
        ? html `${filters.length > 0 ? 'Filter the list to export it: a' : 'A'} file has at most ${atMost(FILE_ROWS)} ${noun[1]}`
        : html `Export <a href="${path}${query.with({ format: 'csv' })}">CSV</a> <a href="${path}${query.with({ format: 'ndjson' })}">NDJSON</a>`}</p>
</div>`;
}
/** The file of a list, if the request asks for one. A list that is too long gets a page that says what to do. */
export function exported({ query }, name, rows) {
    const { format } = query;
    if (format === undefined)
        return undefined;
    if (rows.length <= FILE_ROWS)
        return { name, format, rows };
    const body = html `<h1>Too many rows</h1>
<p class="lead">A file has at most ${FILE_ROWS} rows. Filter the list, then export it again.</p>`;
    return { status: 400, title: 'Too many rows', body };
}
//# sourceMappingURL=table.js.map