import { type Parameters, single } from '../../../auth/oauth/parameters.ts';
import { Refused } from '../../../core/refused.ts';
import {
  compareSource,
  findSource,
  type SourceForm,
  type SourceRecord,
  setPaused,
} from '../../../gateway/console/sources.ts';
import { type Html, html } from '../../http/html.ts';
import { heading } from '../frame.ts';
import type { Asked, ChangeDone, ConsoleAct, ConsolePage, ShownPage } from '../page.ts';
import { actForm, commands } from '../parts.ts';
import { options } from '../table.ts';
import { findingList, SOURCES, told } from './sources.ts';

const MODES = [
  ['poll', 'Polling: reads again and again'],
  ['live', 'Live: needs triggers in the helpdesk'],
] as const;
const FIELDS = ['url', 'account', 'mode', 'period', 'time_zone', 'api_url', 'api_token'];

interface SourceGiven extends Omit<SourceForm, 'url' | 'apiToken'> {
  readonly problem?: string;
  readonly findings?: SourceRecord['findings'];
}

const EMPTY: SourceGiven = { account: '1', mode: 'poll', period: '15', timeZone: 'UTC', apiUrl: '' };

const text = (form: Parameters, name: string): string => (single(form, name) ?? '').trim();

const formOf = (form: Parameters): SourceForm => ({
  url: text(form, 'url'),
  account: text(form, 'account'),
  mode: text(form, 'mode') === 'live' ? 'live' : 'poll',
  period: text(form, 'period'),
  timeZone: text(form, 'time_zone'),
  apiUrl: text(form, 'api_url'),
  apiToken: text(form, 'api_token'),
});

/** The form for a new source. The address and the token hold secrets, so a refused form does not repeat them. */
function addForm(asked: Asked, given: SourceGiven): ShownPage {
  const { problem, findings = [] } = given;
  const { hosts } = asked.desk.tools.sources;
  return {
    title: problem === undefined ? 'Add a source' : 'Problem: Add a source',
    ...(problem !== undefined && { status: 400 }),
    body: html`<p class="up"><a href="${SOURCES}">Sources</a></p>
${heading('Add a source', 'The gateway follows the database of a Chatwoot, and keeps a copy of its records.')}
${
  problem === undefined
    ? undefined
    : html`<div class="problem" role="alert"><p id="problem">${told(problem)}</p>${findings.length > 0 ? findingList(findings) : undefined}</div>`
}
${hosts.length === 0 ? closed(asked) : fields(asked, given, hosts)}`,
  };
}

const closed = ({ person }: Asked): Html => html`
<p>On this gateway, the operator adds sources. The command checks the address first, and says what is wrong:</p>
${commands(`gateway source add chatwoot --organization ${person.organization_id} --url postgres://USER:PASSWORD@HOST:5432/DATABASE --account 1`)}
<p>Or the operator lists the hosts of your helpdesk in <code>GATEWAY_SOURCE_HOSTS</code>. Then this page has a form.
A database administrator runs the <a href="${SOURCES}/grants">SQL that gives the rights</a> in any case.</p>`;

const fields = (asked: Asked, given: SourceGiven, hosts: readonly string[]): Html => html`
<p>First a database administrator runs the <a href="${SOURCES}/grants">SQL that gives the rights</a>.</p>
${actForm(asked, {
  action: `${SOURCES}/add`,
  button: 'Check and add',
  fields: html`<p class="field"><label for="url">Address of the database</label>
    <input id="url" name="url" type="password" placeholder="postgres://user:password@host:5432/database" autocomplete="off" spellcheck="false" required>
    <span class="small">Kept encrypted, and never shown again. Allowed hosts: ${hosts.join(', ')}. A host without a port is allowed at port 5432, and for the API at port 443 (80 with http).</span></p>
  <p class="field"><label for="account">Account number</label>
    <input id="account" name="account" inputmode="numeric" value="${given.account}" maxlength="7" required></p>
  <p class="field"><label for="mode">How to read</label>
    <select id="mode" name="mode">${options(MODES, given.mode)}</select></p>
  <p class="field"><label for="period">Seconds between two polls</label>
    <input id="period" name="period" inputmode="numeric" value="${given.period}" maxlength="7"></p>
  <p class="field"><label for="time_zone">Time zone of the website</label>
    <input id="time_zone" name="time_zone" value="${given.timeZone}" maxlength="60" autocomplete="off" spellcheck="false" required></p>
  <p class="field"><label for="api_url">Address of the API (optional)</label>
    <input id="api_url" name="api_url" type="url" value="${given.apiUrl}" placeholder="https://chat.example" autocomplete="off" spellcheck="false">
    <span class="small">With it, notes and dispositions go back to the helpdesk.</span></p>
  <p class="field"><label for="api_token">Token of the API (optional)</label>
    <input id="api_token" name="api_token" type="password" autocomplete="off" spellcheck="false"></p>`,
})}`;

const newPage: ConsolePage = {
  path: /^\/console\/sources\/new$/,
  operation: 'console_source_new',
  show: async (asked) => addForm(asked, EMPTY),
};

const grantsPage: ConsolePage = {
  path: /^\/console\/sources\/grants$/,
  operation: 'console_source_grants',
  async show({ desk, query }) {
    const mode = query.one('mode', ['poll', 'live']) ?? 'poll';
    const sql = await desk.tools.sources.grants(mode);
    return {
      title: 'SQL for the helpdesk',
      body: html`<p class="up"><a href="${SOURCES}/new">Add a source</a></p>
${heading('SQL for the helpdesk', 'A role that may read only the columns that the gateway needs. Choose a password for it.')}
<nav class="periods" aria-label="How to read"><ul>${MODES.map(
        ([one, label]) =>
          html`<li><a href="${SOURCES}/grants?mode=${one}"${one === mode ? html` aria-current="true"` : undefined}>${label}</a></li>`,
      )}</ul></nav>
<pre tabindex="0" aria-label="SQL"><code>${sql}</code></pre>`,
    };
  },
};

const add: ConsoleAct = {
  path: /^\/console\/sources\/add$/,
  operation: 'source_add',
  fields: FIELDS,
  from: () => `${SOURCES}/new`,
  async run(asked, form) {
    const { url, apiToken, ...given } = formOf(form);
    const { sources } = asked.desk.tools;
    if (sources.hosts.length === 0) return addForm(asked, given);
    const added = await sources.add(asked.desk, { ...given, url, apiToken });
    if ('problem' in added) return addForm(asked, { ...given, ...added });
    return { to: `${SOURCES}/${added.id}`, notice: 'source_added', target: added.id };
  },
};

function change(
  name: string,
  operation: string,
  make: (asked: Asked, id: string) => Promise<(Pick<ChangeDone, 'notice'> & Partial<ChangeDone>) | undefined>,
): ConsoleAct {
  return {
    path: new RegExp(`^/console/sources/(src_[a-f0-9]{32})/${name}$`),
    operation,
    fields: [],
    from: ([id = '']) => `${SOURCES}/${id}`,
    async run(asked) {
      const [id = ''] = asked.parameters;
      const made = await make(asked, id);
      return made && { to: `${SOURCES}/${id}`, target: id, ...made };
    },
  };
}

const pause = (name: 'pause' | 'resume', paused: boolean): ConsoleAct =>
  change(name, `source_${name}`, async ({ desk }, id) =>
    (await setPaused(desk, id, paused)) ? { notice: `source_${name}d` } : undefined,
  );

const remove = (name: 'remove' | 'delete', withData: boolean): ConsoleAct =>
  change(name, `source_${name}`, async ({ desk }, id) => {
    const record = await findSource(desk, id);
    if (!record) return undefined;
    try {
      const { left, finished } = await desk.tools.sources.remove(desk, record, withData);
      const done = finished ? `source_${name}d` : 'source_deleting';
      return { to: SOURCES, notice: left === undefined ? done : finished ? 'source_outbox' : 'source_deleting_outbox' };
    } catch (error) {
      if (error instanceof Refused) return undefined;
      throw error;
    }
  });

export const sourceChangePages: readonly ConsolePage[] = [newPage, grantsPage];
export const sourceActs: readonly ConsoleAct[] = [
  add,
  pause('pause', true),
  pause('resume', false),
  change('check', 'source_check', async ({ desk }, id) =>
    (await compareSource(desk, id)) ? { notice: 'source_checking' } : undefined,
  ),
  remove('remove', false),
  remove('delete', true),
];
