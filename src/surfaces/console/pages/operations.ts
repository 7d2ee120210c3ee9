import { findApp, switchOperation } from '../../../gateway/console/administration.ts';
import { html } from '../../http/html.ts';
import { COLUMNS } from '../columns.ts';
import { heading } from '../frame.ts';
import type { Asked, ConsoleAct, ConsolePage, Exported, ShownPage } from '../page.ts';
import { actForm, state } from '../parts.ts';
import { empty, exported, list, nameColumn, numberColumn, table, titled } from '../table.ts';
import { appName } from './apps.ts';

const pathOf = (app: string): string => `/console/apps/${app}/operations`;

const KINDS = [
  ['read', 'Reads'],
  ['write', 'Writes'],
] as const;
const SWITCHES = ['on', 'off'] as const;

/** The operations of the gateway, and which of them are switched off for one app. */
const operations: ConsolePage = {
  path: /^\/console\/apps\/(app_[a-f0-9]{32})\/operations$/,
  operation: 'console_operations',
  show: shownList,
};

async function shownList(asked: Asked): Promise<ShownPage | Exported | undefined> {
  const { desk, query, registry } = asked;
  const [id = ''] = asked.parameters;
  const app = await findApp(desk, id);
  if (!app) return undefined;
  const [kind, wanted] = [query.one('kind', ['read', 'write']), query.one('state', SWITCHES)];
  const text = (query.text('q') ?? '').toLowerCase();
  const found = registry.all
    .filter((one) => !one.byPolicy || app.writes.includes(one.name) || app.switched_off.includes(one.name))
    .map(({ name, title, effect }) => ({ name, title, effect, off: app.switched_off.includes(name) }))
    .filter((one) => kind === undefined || one.effect === kind)
    .filter((one) => wanted === undefined || one.off === (wanted === 'off'))
    .filter((one) => `${one.name} ${one.title}`.toLowerCase().includes(text));
  const { limit, offset } = query.slice;
  const rows = found.slice(offset, offset + limit);
  const documents = rows.map((one) => ({ operation: one.name, kind: one.effect, switched_off: one.off }));
  const file = exported(asked, 'operations', COLUMNS.operations, documents);
  if (file) return file;
  const path = pathOf(id);
  const shown = rows.map(({ name, title, effect, off }) => [
    html`<code>${name}</code> <span class="small">${title}</span>`,
    effect === 'write' ? 'writes' : 'reads',
    off ? state('off', 'warn') : state('on', 'good'),
    actForm(asked, {
      action: `${path}/${name}/${off ? 'on' : 'off'}`,
      button: off ? 'Switch on' : 'Switch off',
      label: `${off ? 'Switch on' : 'Switch off'} ${name}`,
      tone: 'plain',
    }),
  ]);
  return {
    title: 'Operations',
    body: html`<p class="up"><a href="/console/apps">Apps</a> / <a href="/console/apps/${id}">${appName(app)}</a></p>
${heading('Operations', 'Whatever its credentials permit, the app cannot call an operation that is switched off, over REST, MCP and A2A.')}
${list({
  path,
  query,
  noun: ['operation', 'operations'],
  total: found.length <= offset ? 0 : found.length,
  filters: [
    { name: 'q', label: 'Name' },
    { name: 'kind', label: 'Kind', choices: KINDS },
    { name: 'state', label: 'State', choices: titled(SWITCHES) },
  ],
  table: table('Operations', [nameColumn('Operation'), 'Kind', 'State', numberColumn('Change')], shown),
  empty: empty('There is no operation', html`<a href="/console/apps">Go to the apps</a>`),
})}`,
  };
}

const switchTo = (to: 'on' | 'off'): ConsoleAct => ({
  path: new RegExp(`^/console/apps/(app_[a-f0-9]{32})/operations/([a-z][a-z_]{0,63})/${to}$`),
  operation: `operation_switch_${to}`,
  fields: [],
  from: ([id = '']) => pathOf(id),
  async run({ desk, registry, parameters: [app = '', operation = ''] }) {
    const done = await switchOperation(desk, registry, { app, operation, on: to === 'on' });
    const made = { to: pathOf(app), notice: `switched_${to}`, target: app, part: operation };
    if (done) return made;
    // The second click of a double click, or another tab: the operation is as the person wants it.
    const exists = registry.all.some(({ name }) => name === operation);
    const now = exists ? await findApp(desk, app) : undefined;
    return now?.switched_off.includes(operation) === (to === 'off') ? made : undefined;
  },
});

export const operationPages: readonly ConsolePage[] = [operations];
export const operationActs: readonly ConsoleAct[] = [switchTo('off'), switchTo('on')];
