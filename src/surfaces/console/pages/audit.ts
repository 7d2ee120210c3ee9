import { OAuthError } from '../../../auth/oauth/errors.ts';
import { AUDIT_SURFACES } from '../../../core/audit-records.ts';
import { FAILURE_CODES } from '../../../core/failures.ts';
import { pick } from '../../../core/json.ts';
import { listApps, listPeople } from '../../../gateway/console/administration.ts';
import {
  type AuditPlace,
  type AuditRow,
  type AuditRows,
  auditFileOf,
  auditOf,
  isWebsite,
  ocsfOf,
  readersOf,
  recordOf,
} from '../../../gateway/console/audit.ts';
import { type Html, html } from '../../http/html.ts';
import { EMAIL, INTERFACES, named, plain } from '../../http/pages/shell.ts';
import { COLUMNS } from '../columns.ts';
import { heading } from '../frame.ts';
import type { Asked, ConsolePage, Exported, ShownPage } from '../page.ts';
import { commands, shellWord, state } from '../parts.ts';
import { FILE_ROWS, type ListQuery, ROWS } from '../query.ts';
import { empty, filterForm, type ListFilter, nameColumn, table } from '../table.ts';
import { DAYS, readerPart } from './audit-readers.ts';

const AUDIT = '/console/audit';
/** Apps and people that the filters name. */
const NAMES = { limit: 200, offset: 0 };
/** Before every record. */
const FIRST = '2000-01-01T00:00:00Z';
/** The day behind it has a year of four digits, too, so that PostgreSQL reads it. */
const LAST_DAY = Date.parse('9998-12-31T00:00:00Z');
const FILTERS = ['operation', 'target', 'outcome', 'app', 'person', 'surface', 'from', 'to'] as const;

/** What a record says besides `ok` and the codes of failures: who was refused before a call, or did not wait for it. */
const OUTCOMES = ['address_refused', 'credentials', 'locked', 'access_denied', 'unfinished'];
const SURFACES = { ...INTERFACES, page: 'Page', cli: 'Command line' } as const;

interface NamesShown {
  readonly apps: ReadonlyMap<string, string>;
  readonly people: ReadonlyMap<string, string>;
}

async function namesFor({ desk }: Asked): Promise<NamesShown> {
  const [apps, people] = await Promise.all([listApps(desk, {}, NAMES), listPeople(desk, {}, NAMES)]);
  return {
    apps: new Map(apps.rows.map(({ id, name, client_host }) => [id, client_host ?? name])),
    people: new Map(people.rows.map(({ id, email }) => [id, email])),
  };
}

/** The start of a UTC day, `days` days later. Refuses what is no day, and a year that nobody means, like a bad character. */
function dayOf(text: string | undefined, days: number): string | undefined {
  if (text === undefined) return undefined;
  const at = /^[2-9]\d{3}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // Date.parse takes 31 February as 3 March.
  if (Number.isNaN(at) || !new Date(at).toISOString().startsWith(`${text}T`) || at > LAST_DAY)
    throw new OAuthError('invalid_request');
  return new Date(at + days * 86_400_000).toISOString();
}

const searchOf = (query: ListQuery) => ({
  operation: query.text('operation'),
  target: query.text('target'),
  outcome: query.text('outcome'),
  app: query.text('app'),
  person: query.text('person'),
  surface: query.one('surface', AUDIT_SURFACES),
  from: dayOf(query.text('from'), 0),
  to: dayOf(query.text('to'), 1),
});

/** A place that an address has. It finds records of the organization only. */
function placeOf(query: ListQuery, name: 'after' | 'until'): AuditPlace | undefined {
  const [, at, id] = /^(\d{1,15})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(query.text(name) ?? '') ?? [];
  return at === undefined || id === undefined || Number(at) > LAST_DAY ? undefined : { at: Number(at), id };
}

const auditPage: ConsolePage = {
  path: /^\/console\/audit$/,
  operation: 'console_audit',
  async show(asked) {
    const { desk, query } = asked;
    const search = searchOf(query);
    const after = placeOf(query, 'after');
    const format = query.one('format', FORMATS);
    if (format) return exportOf(asked, search, { format, after, until: placeOf(query, 'until') });
    const [found, names, readers] = await Promise.all([
      auditOf(desk, search, { limit: ROWS, after }),
      namesFor(asked),
      search.target === undefined || isWebsite(search.target) ? undefined : readersOf(desk, search.target, DAYS),
    ]);
    if (!found) return undefined;
    return {
      title: 'Audit',
      body: html`${heading('Audit', 'Every call of an app, every page that a person opened, and every change. Without content.')}
${filterForm(AUDIT, query, filtersOf(names), query.filtered(FILTERS))}
${search.target === undefined || readers === undefined ? undefined : readerPart(search.target, readers)}
${recordPart(query, found, names)}`,
    };
  },
};

const FORMATS = ['csv', 'ndjson', 'ocsf'] as const;

interface AuditPart {
  readonly format: (typeof FORMATS)[number];
  readonly after: AuditPlace | undefined;
  readonly until: AuditPlace | undefined;
}

/** The command that exports the same records, however many. */
const commandOf = (search: ReturnType<typeof searchOf>, organization: string, format: AuditPart['format']): string =>
  [
    `gateway audit export --organization=${shellWord(organization)}`,
    ...Object.entries({ from: FIRST, to: new Date().toISOString(), ...defined(search) }).map(
      ([name, value]) => `--${name}=${shellWord(value)}`,
    ),
    ...(format === 'ocsf' ? ['--format=ocsf'] : []),
  ].join(' ');

const defined = (search: ReturnType<typeof searchOf>): Record<string, string> =>
  Object.fromEntries(Object.entries(search).filter((one): one is [string, string] => one[1] !== undefined));

/** A file with all records that match, or a page that offers them in parts. */
async function exportOf(
  { desk, person, query }: Asked,
  search: ReturnType<typeof searchOf>,
  { format, after, until }: AuditPart,
): Promise<ShownPage | Exported | undefined> {
  const found = await auditFileOf(desk, search, { limit: FILE_ROWS, after, until });
  if (!found) return undefined;
  const back = html`<p><a href="${AUDIT}${query.with({ after: undefined, until: undefined })}">Back to the records</a></p>`;
  if (found === 'busy')
    return {
      status: 409,
      title: 'Another search is running',
      body: html`${heading('Another search is running', 'Another search of yours is still running. Try again in ten seconds.')}${back}`,
    };
  const { rows, next } = found;
  if (!next) return fileOf(format, rows);
  const first = rows[0];
  // Behind the last possible record of a millisecond. So records that are made meanwhile are not in the part.
  const start = after ? query.text('after') : first && `${first.at.getTime() + 1}.00000000-0000-0000-0000-000000000000`;
  const end = `${next.at}.${next.id}`;
  const to = (more: Readonly<Record<string, string | undefined>>): string =>
    `${AUDIT}${query.with({ format, ...more })}`;
  const day = (at: number) => html`<time datetime="${new Date(at).toISOString()}">${SECONDS.format(at)}</time>`;
  const rest = to({ after: end, until: query.text('until') });
  return {
    title: 'Export in parts',
    body: html`${heading('Export in parts', html`A file has at most ${FILE_ROWS} records, and the gateway searches 10 seconds for them. ${rows.length} records match from ${after ? day(after.at) : 'now'} back to ${day(next.at)}, UTC. Older ones may match, too.`)}
${
  first
    ? html`<p class="buttons"><a class="button main" href="${to({ after: start, until: end })}">Download these ${rows.length} records</a></p>`
    : undefined
}
<p><a rel="next" href="${rest}">Go on with older records</a></p>
<p>Choose fewer days or more filters to get one file. The operator of this gateway can export all at once. This command
writes NDJSON:</p>
${commands(commandOf(search, person.organization_id, format))}
${back}`,
  };
}

function fileOf(format: AuditPart['format'], rows: readonly AuditRow[]): Exported {
  const records = rows.map(recordOf);
  const columns = COLUMNS.audit;
  if (format === 'ocsf')
    return { name: 'audit-ocsf', format: 'ndjson', columns, rows: records.map((one) => ({ ...ocsfOf(one) })) };
  if (format === 'ndjson') return { name: 'audit', format, columns, rows: records.map((one) => ({ ...one })) };
  return { name: 'audit', format, columns, rows: rows.map(lineOf) };
}

/** A line of a CSV file has a cell for every member, also for an absent one. */
const lineOf = (row: AuditRow): Record<string, unknown> => ({
  audit_id: recordOf(row).audit_id,
  time: row.at,
  ...pick(row, 'website_id', 'app_id', 'credential_id', 'person_id'),
  client: [row.client_name, row.client_version].filter((one) => one !== null).join(' '),
  ...pick(row, 'address', 'surface', 'operation'),
  targets: recordOf(row).targets,
  ...pick(row, 'count', 'outcome', 'status', 'units', 'duration_ms', 'request_id', 'operation_id'),
});

const filtersOf = ({ apps, people }: NamesShown): ListFilter[] => [
  { name: 'target', label: 'Record' },
  { name: 'operation', label: 'Operation' },
  {
    name: 'outcome',
    label: 'Outcome',
    choices: ['ok', ...OUTCOMES, ...FAILURE_CODES].map((one) => [one, one.replaceAll('_', ' ')]),
    open: true,
  },
  { name: 'app', label: 'App', choices: [...apps].map(([id, name]) => [id, plain(name, 60)]), open: true },
  { name: 'person', label: 'Person', choices: [...people].map(([id, email]) => [id, plain(email, 60)]), open: true },
  { name: 'surface', label: 'Interface', choices: AUDIT_SURFACES.map((one) => [one, SURFACES[one]]) },
  { name: 'from', label: 'From (UTC)', type: 'date' },
  { name: 'to', label: 'To', type: 'date' },
];

function recordPart(query: ListQuery, { rows, next }: AuditRows, names: NamesShown): Html {
  const on = next && `${AUDIT}${query.with({ after: `${next.at}.${next.id}` })}`;
  const more = on
    ? html`<nav aria-label="Pages"><a rel="next" href="${on}">${rows.length < ROWS ? 'Search older records' : 'Older'}</a></nav>`
    : undefined;
  if (rows.length === 0)
    return html`<section><h2>Records</h2>${
      on
        ? empty(
            'No record matches yet',
            html`The newest records do not match. <a href="${on}">Search older records</a>`,
          )
        : query.filtered([...FILTERS, 'after'])
          ? empty('No record matches', html`<a href="${AUDIT}">Show all records</a>`)
          : empty(
              'No record yet',
              html`A call appears here a second after its answer. <a href="/docs/clients">Connect a client</a>`,
            )
    }</section>`;
  return html`<section><h2>Records</h2>
${table(
  'Audit records, newest first',
  ['Time', nameColumn('Who'), 'Operation', 'Records', 'Outcome', 'Address'],
  rows.map((row) => rowOf(query, row, names)),
)}
<div class="foot">${query.text('after') === undefined ? undefined : html`<p><a href="${AUDIT}${query.with({ after: undefined })}">Newest</a></p>`}${more}
<p class="export">Export <a href="${AUDIT}${query.with({ after: undefined, format: 'csv' })}">CSV</a>
<a href="${AUDIT}${query.with({ after: undefined, format: 'ndjson' })}">NDJSON</a>
<a href="${AUDIT}${query.with({ after: undefined, format: 'ocsf' })}">OCSF</a></p></div></section>`;
}

const SECONDS = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' });

function rowOf(query: ListQuery, row: AuditRow, names: NamesShown) {
  const narrow = (name: string, value: string, words: Html | string = value): Html =>
    html`<a href="${AUDIT}${query.with({ after: undefined, [name]: value })}">${words}</a>`;
  const { targets } = recordOf(row);
  return [
    html`<time datetime="${row.at.toISOString()}">${SECONDS.format(row.at)}</time>`,
    whoOf(row, names),
    html`${narrow('operation', row.operation, html`<code>${row.operation}</code>`)} <span class="small">${SURFACES[row.surface]}</span>`,
    targets.length === 0 && row.count === null
      ? undefined
      : html`${targets.map((target, i) => [i === 0 ? '' : ', ', narrow('target', target, targetOf(target, names))])}${
          row.count === null ? undefined : html` <span class="small">${row.count} records</span>`
        }`,
    row.outcome === 'ok'
      ? state(row.replayed ? 'ok, repeated' : 'ok', 'good')
      : html`${state(row.outcome.replaceAll('_', ' '), 'bad')} <span class="small">${row.status}</span>`,
    row.address === null ? undefined : html`<code class="whole">${row.address}</code>`,
  ];
}

/** The name of an app or a person. Of another long id the start, which no row of a table repeats by chance. */
const targetOf = (id: string, { apps, people }: NamesShown): Html => {
  const name = apps.get(id) ?? people.get(id);
  if (name !== undefined) return named(name, EMAIL);
  return html`<code title="${id}">${/_[0-9a-f]{32}$/.test(id) ? `${id.slice(0, 12)}…` : id}</code>`;
};

function whoOf({ app_id, person_id, client_name, surface }: AuditRow, { apps, people }: NamesShown): Html {
  const person =
    person_id === null
      ? undefined
      : html`<a href="/console/people/${person_id}">${named(people.get(person_id) ?? person_id, EMAIL)}</a>`;
  if (app_id === null) return person ?? html`${surface === 'cli' ? 'The command line' : 'Nobody'}`;
  return html`<a href="/console/apps/${app_id}">${named(apps.get(app_id) ?? app_id)}</a>${
    person || client_name !== null
      ? html`<p class="remark">${person && ['for ', person, ' ']}${client_name === null ? undefined : ['by ', named(client_name)]}</p>`
      : undefined
  }`;
}

export const auditPages: readonly ConsolePage[] = [auditPage];
