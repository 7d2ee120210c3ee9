import { pick } from '../../../core/json.ts';
import { websiteNames } from '../../../gateway/console/administration.ts';
import {
  countRecords,
  findingsOf,
  findSource,
  isAlone,
  lagOf,
  listRejects,
  listSources,
  type RejectRecord,
  type SourceRecord,
} from '../../../gateway/console/sources.ts';
import { type Html, html } from '../../http/html.ts';
import { named, plain } from '../../http/pages/shell.ts';
import { COLUMNS } from '../columns.ts';
import { heading } from '../frame.ts';
import type { Asked, ConsolePage } from '../page.ts';
import { actForm, atMost, dangerous, facts, state, time } from '../parts.ts';
import { empty, exported, list, nameColumn, numberColumn, table, titled } from '../table.ts';

export const SOURCES = '/console/sources';
/** The longest text of a helpdesk that a page shows. */
const SHOWN = 500;

const STATES = ['following', 'loading', 'failing', 'paused', 'removing'] as const;
const TONES = { following: 'good', loading: 'good', failing: 'bad', paused: 'off', removing: 'off' } as const;

/** What a message for the command line means in the console. */
export const told = (text: string): string =>
  plain(text, SHOWN).replaceAll(' of --url', '').replaceAll('--url', 'the address');

const nameOf = ({ kind, account }: Pick<SourceRecord, 'kind' | 'account'>): Html =>
  html`${kind === 'chatwoot' ? 'Chatwoot' : named(kind)}, account ${named(account)}`;

const sourceList: ConsolePage = {
  path: /^\/console\/sources$/,
  operation: 'console_sources',
  async show(asked) {
    const { desk, query } = asked;
    const search = { text: query.text('q'), state: query.one('state', STATES) };
    const [{ rows, total }, names] = await Promise.all([listSources(desk, search, query.slice), websiteNames(desk)]);
    const file = exported(asked, 'sources', COLUMNS.sources, rows.map(sourceDocument));
    if (file) return file;
    return {
      title: 'Sources',
      body: html`${heading('Sources', 'Helpdesks whose records the gateway follows.')}
<p class="do"><a class="button plain" href="${SOURCES}/new">Add a source</a></p>
${list({
  path: SOURCES,
  query,
  noun: ['source', 'sources'],
  total,
  filters: [
    { name: 'q', label: 'Account or website id' },
    { name: 'state', label: 'State', choices: titled(STATES) },
  ],
  table: table(
    'Sources',
    [nameColumn('Source'), 'Website', 'State', 'Behind', numberColumn('Rejected'), 'Last success'],
    rows.map((one) => [
      html`<a href="${SOURCES}/${one.id}">${nameOf(one)}</a>`,
      one.website_id === null ? 'not written yet' : named(names.get(one.website_id) ?? one.website_id),
      state(one.state, TONES[one.state]),
      lagOf(one),
      atMost(one.rejects),
      one.last_success_at ? time(one.last_success_at) : 'none',
    ]),
  ),
  empty: empty(
    'No source yet',
    html`A source keeps the records of a website up to date from the database of your helpdesk.
<a href="${SOURCES}/new">Add a source</a>`,
  ),
})}`,
    };
  },
};

const sourceDocument = (one: SourceRecord): Record<string, unknown> => ({
  source_id: one.id,
  ...pick(one, 'kind', 'account', 'website_id', 'mode', 'state', 'lag_seconds', 'behind', 'rejects'),
  ...pick(one, 'last_success_at', 'last_error', 'compared_at', 'writes_back', 'created_at'),
});

const sourcePage: ConsolePage = {
  path: /^\/console\/sources\/(src_[a-f0-9]{32})$/,
  operation: 'console_source',
  async show(asked) {
    const { desk, query, parameters } = asked;
    const [id = ''] = parameters;
    const [one, names, rejects] = await Promise.all([
      findSource(desk, id),
      websiteNames(desk),
      listRejects(desk, id, query.slice),
    ]);
    if (!one) return undefined;
    const file = exported(asked, `rejects-${id}`, COLUMNS.rejects, rejects.rows.map(rejectDocument));
    if (file) return file;
    const counted = Object.entries(await countRecords(desk, one)).filter(([, n]) => n > 0);
    const unmapped = Object.entries(one.unmapped).filter(([, n]) => n > 0);
    return {
      title: `Source ${one.kind} ${one.account}`,
      body: html`<p class="up"><a href="${SOURCES}">Sources</a></p>
${heading(nameOf(one))}
${one.last_error === null ? undefined : html`<div class="problem" role="alert"><p>Reading fails</p><p>${told(one.last_error)}</p></div>`}
${facts([
  [
    'State',
    html`${state(one.state, TONES[one.state])}${isAlone(one) ? html` <span class="small">no gateway runs it now</span>` : undefined}`,
  ],
  one.progress
    ? [
        'Progress',
        `${one.progress.phase}: ${one.progress.done}${one.progress.total === null ? '' : ` of ${one.progress.total}`} records`,
      ]
    : undefined,
  ['Behind', lagOf(one)],
  ['Last success', one.last_success_at ? time(one.last_success_at) : 'none'],
  ['Compared', one.compared_at ? time(one.compared_at) : 'never'],
  ['Website', one.website_id === null ? 'not written yet' : named(names.get(one.website_id) ?? one.website_id)],
  ['Reads by', one.mode === 'poll' ? `polling, every ${one.period} s` : 'triggers (live)'],
  [
    'Records',
    counted.length === 0
      ? 'none'
      : counted.map(([name, n]) => `${atMost(n)} ${name.replaceAll('_', ' ')}${n === 1 ? '' : 's'}`).join(', '),
  ],
  unmapped.length === 0
    ? undefined
    : ['Without a place', unmapped.map(([name, n]) => `${n} ${name.replaceAll('_', ' ')}`).join(', ')],
  ['Writes go back', one.writes_back ? 'Yes' : 'No: notes and dispositions stay in the gateway'],
  ['Added', time(one.created_at)],
  ['Id', html`<code>${one.id}</code>`],
])}
${findings(one)}
${one.state === 'removing' ? html`<p>This source is being removed. Apps get 404 for its records, and the gateway deletes them in steps.</p>` : acts(asked, one)}
<h2 id="rejects">Rejected rows</h2>
<p class="small">Rows of the helpdesk that the gateway could not take. All other rows are taken.</p>
${list({
  path: `${SOURCES}/${id}`,
  query,
  noun: ['reject', 'rejects'],
  total: rejects.total,
  filters: [],
  table: table(
    'Rejected rows',
    [nameColumn('Row'), 'Where', 'Why'],
    rejects.rows.map(({ origin, pointer, code }) => [
      named(origin, SHOWN),
      pointer === '' ? 'the whole row' : named(pointer, SHOWN),
      html`<code>${code}</code>`,
    ]),
  ),
  empty: empty('No row is rejected', html`Every row of the helpdesk has its place in the gateway.`),
})}
${one.state === 'removing' ? undefined : removal(asked, one)}`,
    };
  },
};

const acts = (asked: Asked, { id, state: now }: SourceRecord): Html => html`
<div class="acts">
${now === 'paused' ? undefined : actForm(asked, { action: `${SOURCES}/${id}/check`, button: 'Compare all records', tone: 'plain' })}
${actForm(asked, now === 'paused' ? { action: `${SOURCES}/${id}/resume`, button: 'Resume' } : { action: `${SOURCES}/${id}/pause`, button: 'Pause', tone: 'plain' })}
</div>`;

const rejectDocument = ({ origin, pointer, code }: RejectRecord): Record<string, unknown> => ({
  row: origin,
  pointer,
  code,
});

const findings = (one: SourceRecord): Html | undefined => {
  const all = findingsOf(one);
  return all.length === 0 ? undefined : html`<h2>Findings of the last check</h2>${findingList(all)}`;
};

export const findingList = (all: SourceRecord['findings']): Html => html`
<ul class="findings">${all.map(
  ({ level, about, text }) =>
    html`<li>${state(level, level === 'warning' ? 'off' : level === 'degraded' ? 'warn' : 'bad')} <strong>${named(about, SHOWN)}</strong> ${told(text)}</li>`,
)}</ul>`;

const removal = (asked: Asked, { id, website_id }: SourceRecord): Html => html`
<div class="danger-zone">${dangerous(asked, {
  summary: 'Remove this source',
  says: html`The gateway stops reading the helpdesk. Its records stay in the gateway, and grow old.`,
  action: `${SOURCES}/${id}/remove`,
  button: 'Remove source',
})}${
  website_id === null
    ? undefined
    : dangerous(asked, {
        summary: 'Remove this source with its records',
        says: html`The website <code>${website_id}</code> is deleted with all its records. Apps get 404 for them at once. With many records, the gateway needs minutes to delete them. This cannot be undone.`,
        action: `${SOURCES}/${id}/delete`,
        button: 'Remove source and records',
      })
}</div>`;

export const sourcePages: readonly ConsolePage[] = [sourceList, sourcePage];
