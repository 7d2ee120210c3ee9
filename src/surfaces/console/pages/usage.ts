import { pick } from '../../../core/json.ts';
import {
  type AppReading,
  type CallSums,
  type Overview,
  overviewOf,
  PERIODS,
  readingsOf,
  type UsagePeriod,
} from '../../../gateway/console/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { named, plain } from '../../http/pages/shell.ts';
import { COLUMNS } from '../columns.ts';
import { heading } from '../frame.ts';
import type { Asked, ConsolePage } from '../page.ts';
import { plot } from '../plot.ts';
import type { ListQuery } from '../query.ts';
import { empty, exported, list, nameColumn, numberColumn, table } from '../table.ts';

const USAGE = '/console/usage';
const SPANS = { day: 'Last 24 hours', week: 'Last 7 days', month: 'Last 30 days' } as const;
/** Rows of a table on the overview. */
const FEW = 10;

/** No filter, so an unknown period is the shortest one. */
const periodOf = (query: ListQuery): UsagePeriod => PERIODS.find((one) => one === query.text('period')) ?? 'day';

/** The address of the page with another period. The shortest period is the default. */
const inPeriod = (path: string, period: UsagePeriod): string => (period === 'day' ? path : `${path}?period=${period}`);

/** What the apps of the organization have called: figures, plots, and tables with the first rows. */
export async function usage({ desk, query }: Asked): Promise<Html | undefined> {
  const period = periodOf(query);
  const [overview, readings] = await Promise.all([
    overviewOf(desk, period),
    readingsOf(desk, period, { limit: FEW, offset: 0 }),
  ]);
  if (!overview || !readings) return undefined;
  const { total } = overview;
  return html`
<nav class="periods" aria-label="Period"><ul>${PERIODS.map(
    (one) =>
      html`<li><a href="${inPeriod('/console', one)}"${one === period ? html` aria-current="true"` : undefined}>${SPANS[one]}</a></li>`,
  )}</ul></nav>
${
  total.calls === 0
    ? empty(
        'No calls in this period',
        html`A call appears here a second after its answer. <a href="/docs/clients">Connect a client</a>, or choose a longer period.`,
      )
    : html`<dl class="figures">
  <div><dt>Calls</dt><dd>${count(total.calls)}</dd></div>
  <div><dt>Failures</dt><dd>${count(total.failures)} <span class="small">${share(total)}</span></dd></div>
  <div><dt>95 % answered within</dt><dd>${milliseconds(total.p95)}</dd></div>
  <div><dt>Units used</dt><dd>${count(total.units)}</dd></div>
</dl>
<div class="plots">${plots(overview, period)}</div>
<section><h2>By app</h2>${appTable(overview)}</section>
<section><h2>Who reads what</h2>${readingTable(readings.rows.slice(0, FEW))}
<p class="small">${
        readings.total > FEW ? html`The ${FEW} most frequent of ${readings.total}. ` : undefined
      }<a href="${inPeriod(USAGE, period)}">All apps and operations</a></p></section>`
}`;
}

const usageList: ConsolePage = {
  path: /^\/console\/usage$/,
  operation: 'console_usage',
  async show(asked) {
    const { desk, query } = asked;
    const period = periodOf(query);
    const app = query.text('app');
    const [overview, readings] = await Promise.all([
      overviewOf(desk, period),
      readingsOf(desk, period, { ...query.slice, app: app ?? null }),
    ]);
    if (!overview || !readings) return undefined;
    const file = exported(asked, `usage-${period}`, COLUMNS.usage, readings.rows.map(readingDocument));
    if (file) return file;
    return {
      title: 'Who reads what',
      body: html`<p class="up"><a href="${inPeriod('/console', period)}">Overview</a></p>
${heading('Who reads what', 'Which app calls which operation, and how often.')}
${list({
  path: USAGE,
  query,
  noun: ['row', 'rows'],
  total: readings.total,
  filters: [
    {
      name: 'period',
      label: 'Period',
      none: SPANS.day,
      choices: [
        ['week', SPANS.week],
        ['month', SPANS.month],
      ],
    },
    {
      name: 'app',
      label: 'App',
      choices: overview.apps.map((one) => [one.app_id, plain(one.app_name ?? one.app_id, 60)]),
      open: true,
    },
  ],
  table: readingTable(readings.rows),
  empty: empty('No calls in this period', html`Choose a longer period.`),
})}`,
    };
  },
};

function plots({ series, total }: Overview, period: UsagePeriod): Html {
  const format = new Intl.DateTimeFormat('en-GB', { ...LABELS[period], timeZone: 'UTC' });
  const labels = series.map(({ start }) => format.format(start));
  const step = { day: 'hour', week: 'six hours', month: 'day' }[period];
  const most = Math.max(...series.map(({ calls }) => calls));
  return html`${plot({
    id: 'calls',
    title: `Calls by ${step}`,
    says: `${count(total.calls)} calls, of which ${count(total.failures)} failed. At most ${count(most)} calls in one bar.`,
    parts: [
      { name: 'Answered', tone: 'calls' },
      { name: 'Failed', tone: 'failures' },
    ],
    bars: series.map(({ calls, failures }, i) => ({ label: labels[i] ?? '', values: [calls - failures, failures] })),
    format: count,
    axis: short,
    when: 'From (UTC)',
  })}${plot({
    id: 'times',
    title: `Time of an answer by ${step}`,
    says: `95 % of all calls were answered within ${milliseconds(total.p95)}.`,
    parts: [{ name: '95 % within', tone: 'time' }],
    bars: series.map(({ p95 }, i) => ({
      label: labels[i] ?? '',
      values: [p95 === null ? null : Math.min(p95, LONGEST)],
    })),
    format: milliseconds,
    when: 'From (UTC)',
  })}`;
}

const LABELS = {
  day: { hour: '2-digit', minute: '2-digit' },
  week: { weekday: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' },
  month: { day: 'numeric', month: 'short' },
} as const;

const appTable = ({ apps }: Overview): Html =>
  html`${table(
    'Calls by app',
    [nameColumn('App'), ...['Calls', 'Failures', '95 % within', 'Units'].map(numberColumn)],
    apps
      .slice(0, FEW)
      .map((one) => [
        caller(one),
        count(one.calls),
        html`${count(one.failures)} <span class="small">${share(one)}</span>`,
        milliseconds(one.p95),
        count(one.units),
      ]),
  )}${
    apps.length > FEW
      ? html`<p class="small">The ${FEW} busiest of ${apps.length} apps. The list below names all of them.</p>`
      : undefined
  }`;

const readingTable = (rows: readonly AppReading[]): Html =>
  table(
    'Calls by app and operation',
    [nameColumn('App'), 'Operation', ...['Calls', 'Failures', 'Units'].map(numberColumn)],
    rows.map((one) => [
      caller(one),
      html`<a href="${auditOf(one)}"><code>${one.operation}</code></a>`,
      count(one.calls),
      html`${count(one.failures)} <span class="small">${share(one)}</span>`,
      count(one.units),
    ]),
  );

const readingDocument = (one: AppReading): Record<string, unknown> => ({
  app_id: one.app_id === '' ? null : one.app_id,
  ...pick(one, 'app_name', 'operation', 'calls', 'failures', 'units'),
});

/** The audit records of the row. */
const auditOf = ({ app_id: app, operation }: Pick<AppReading, 'app_id' | 'operation'>): string =>
  `/console/audit?${new URLSearchParams({ ...(app !== '' && { app }), operation })}`;

const caller = ({ app_id: id, app_name: name }: Pick<AppReading, 'app_id' | 'app_name'>): Html | string => {
  if (id === '') return 'People and the command line';
  return name === null ? html`<code>${id}</code>` : html`<a href="/console/apps/${id}">${named(name)}</a>`;
};

const NUMBER = new Intl.NumberFormat('en');
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact' });
const count = (n: number): string => NUMBER.format(n);
const short = (n: number): string => COMPACT.format(n);

function share({ calls, failures }: Pick<CallSums, 'calls' | 'failures'>): string {
  const percent = (failures / calls) * 100;
  return failures === 0 || calls === 0 ? '' : percent < 0.1 ? '< 0.1 %' : `${percent.toFixed(1)} %`;
}

/** The start of the last bucket of durations, in milliseconds. */
const LONGEST = 2 ** (31 / 2);

function milliseconds(value: number | null): string {
  if (value === null) return '–';
  if (value > LONGEST) return `over ${Math.floor(LONGEST / 1_000)} s`;
  return value < 1_000 ? `${Math.round(value)} ms` : `${(value / 1_000).toFixed(1)} s`;
}

export const usagePages: readonly ConsolePage[] = [usageList];
