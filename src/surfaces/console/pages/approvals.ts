import { titleOf } from '../../../core/failures.ts';
import { pick } from '../../../core/json.ts';
import {
  APPROVAL_STATES,
  type Approval,
  type Decision,
  decideWrite,
  findWrite,
  listWrites,
} from '../../../gateway/console/approvals.ts';
import { type Html, html } from '../../http/html.ts';
import { capital, EMAIL, INTERFACES, named } from '../../http/pages/shell.ts';
import { COLUMNS } from '../columns.ts';
import { APPROVALS, heading } from '../frame.ts';
import { marked } from '../marked.ts';
import type { Asked, ConsoleAct, ConsolePage, ShownPage } from '../page.ts';
import { actForm, changedMeanwhile, ends, facts, state, time } from '../parts.ts';
import { empty, exported, list, nameColumn, table } from '../table.ts';
import { appName } from './apps.ts';

const WORDS = { pending: 'waiting', approved: 'approved', rejected: 'rejected', lapsed: 'lapsed' } as const;
const TONES = { pending: 'warn', approved: 'good', rejected: 'bad', lapsed: 'off' } as const;
const SURFACES: Readonly<Record<string, string>> = INTERFACES;
const LAPSED = {
  time: 'nobody decided within 24 hours',
  authority: 'the credential or the consent of the app has changed or ended',
  erased: 'the person whom it concerns was erased',
  restored: 'a backup was restored',
} as const;
/** Longest name of a record in a list, in characters. */
const SUBJECT = 240;

const stateOf = ({ state: now }: Approval): Html => state(WORDS[now], TONES[now]);
const app = ({ app_name, client_host }: Approval): Html =>
  app_name === null ? html`a removed app` : appName({ name: app_name, client_host });
const title = ({ registry }: Asked, { operation }: Approval): string => registry.get(operation)?.title ?? operation;

const queue: ConsolePage = {
  path: /^\/console\/approvals$/,
  operation: 'console_approvals',
  approvers: true,
  async show(asked) {
    const { query, registry } = asked;
    const search = {
      state: query.one('state', APPROVAL_STATES),
      operation: query.text('operation'),
      text: query.text('q'),
    };
    const { rows, total } = await listWrites(asked.desk, registry, search, query.slice);
    const file = exported(asked, 'approvals', COLUMNS.approvals, rows.map(approvalDocument));
    if (file) return file;
    const writes = registry.all.filter(({ performs }) => performs).map(({ name }) => name);
    return {
      title: 'Approvals',
      body: html`${heading('Approvals', 'Writes of apps that wait for a person, for up to 24 hours, and what was decided.')}
${list({
  path: APPROVALS,
  query,
  noun: ['write', 'writes'],
  total,
  filters: [
    { name: 'q', label: 'App' },
    { name: 'operation', label: 'Operation', choices: writes.map((name) => [name, name]), open: true },
    { name: 'state', label: 'State', choices: APPROVAL_STATES.map((one) => [one, capital(WORDS[one])]) },
  ],
  table: table(
    'Writes, the waiting ones first',
    [nameColumn('Write'), 'Concerns', 'State', 'Since'],
    rows.map((one) => [
      html`<a href="${APPROVALS}/${one.operation_id}">${title(asked, one)}</a><p class="remark">by ${app(one)}</p>`,
      html`<code>${one.target}</code>${one.name === null ? undefined : html` <span class="small">${named(one.name)}</span>`}`,
      stateOf(one),
      html`${time(one.requested_at)}${one.state === 'pending' ? html` <span class="small">lapses ${time(one.expires_at)}</span>` : undefined}`,
    ]),
  ),
  empty: empty(
    'No write has waited yet',
    asked.person.role === 'operator'
      ? html`You are an approver. Here you find the writes of the credentials that name you.`
      : html`The operator of this gateway names the writes of a credential that must wait:
<code>gateway credential update CRD --approve OPERATION</code>`,
  ),
})}`,
    };
  },
};

/** Without the text of the write, which nobody needs in a file. */
const approvalDocument = (one: Approval): Record<string, unknown> => ({
  ...pick(one, 'operation_id', 'operation', 'target', 'website_id', 'app_id', 'app_name', 'client_host'),
  ...pick(one, 'credential_id', 'email', 'surface', 'client_name', 'state', 'lapsed_because'),
  ...pick(one, 'requested_at', 'expires_at', 'decided_at', 'decided_by'),
});

const approvalPage: ConsolePage = {
  path: /^\/console\/approvals\/(op_[a-f0-9]{64})$/,
  operation: 'console_approval',
  approvers: true,
  show: (asked) => shown(asked),
};

/** The page of one write. `problem`: why a form has changed nothing. */
async function shown(asked: Asked, problem?: (now: Approval) => Html): Promise<ShownPage | undefined> {
  const [id = ''] = asked.parameters;
  const one = await findWrite(asked.desk, asked.registry, id);
  if (!one) return undefined;
  return {
    ...(problem && { status: 409 }),
    title: title(asked, one),
    body: html`<p class="up"><a href="${APPROVALS}">Approvals</a></p>
${heading(title(asked, one), one.state === 'pending' ? 'The app asks to do exactly this. Nothing has changed yet.' : undefined)}
${problem?.(one)}
${facts([
  [
    'State',
    html`${stateOf(one)}${one.lapsed_because === null ? undefined : html` <span class="small">${LAPSED[one.lapsed_because]}</span>`}`,
  ],
  one.decided_at && one.state !== 'lapsed'
    ? [
        'Decided',
        html`${time(one.decided_at)} by ${one.decided_by === null ? 'the command line, or a removed person' : named(one.decided_by, EMAIL)}`,
      ]
    : undefined,
  ['Operation', html`<code>${one.operation}</code>`],
  [
    'Concerns',
    html`<code>${one.target}</code>${one.name === null ? undefined : html` <bdi class="said">${marked(one.name)}</bdi>`}`,
  ],
  ['Website', named(one.website_name)],
])}
<h2>What it writes</h2>
${written(one)}
<h2>Who asks</h2>
${facts([
  [
    'App',
    one.app_id === null || asked.person.role === 'operator'
      ? app(one)
      : html`<a href="/console/apps/${one.app_id}">${app(one)}</a>`,
  ],
  ['Credential', html`<code>${one.credential_id}</code>`],
  one.email === null ? undefined : ['For', named(one.email, EMAIL)],
  one.client_name === null
    ? undefined
    : [
        'Client, as it told',
        named([one.client_name, one.client_version].filter((part) => part !== null).join(' '), SUBJECT),
      ],
  one.surface === null ? undefined : ['Interface', SURFACES[one.surface] ?? one.surface],
  ['Author', one.author === null ? 'None' : named(one.author)],
  ['Since', time(one.requested_at)],
  one.state === 'pending' ? ['Lapses', ends(one.expires_at)] : undefined,
  ['Id', html`<code>${one.operation_id}</code>`],
])}
${one.state === 'pending' ? decision(asked, one) : undefined}`,
  };
}

/** Every member of the command. A text is whole, with its line breaks. */
function written({ operation, command, assignee }: Approval): Html {
  if (command === null) return html`<p>The text is not kept after the decision.</p>`;
  // The record that the write concerns stands above. Who gets the conversation is shown by name.
  const members = Object.entries(command).filter(([member]) => !ELSEWHERE.includes(member));
  if (members.length === 0 && operation !== ASSIGN) return html`<p>Nothing besides the operation.</p>`;
  return html`<dl class="list">${operation === ASSIGN ? assigned(assignee) : undefined}${members.map(
    ([member, value]) => html`<div><dt>${LABELS[member] ?? capital(member).replaceAll('_', ' ')}</dt>
<dd class="said" dir="auto">${READERS[`${member} ${value}`] ?? marked(typeof value === 'string' ? value : JSON.stringify(value, null, 2))}</dd></div>`,
  )}</dl>`;
}

function assigned(assignee: Approval['assignee']): Html {
  if (assignee === undefined) return html`<div><dt>Operator</dt><dd>None. The team stays.</dd></div>`;
  const { kind, id, name } = assignee;
  return html`<div><dt>${kind === 'team' ? 'Team' : 'Operator'}</dt>
<dd><code>${id}</code>${name === null ? undefined : html` <bdi class="said">${marked(name)}</bdi>`}</dd></div>`;
}

const ASSIGN = 'conversation_assign';
const READERS: Readonly<Record<string, string>> = {
  'visibility public': 'Public: the customer reads it',
  'visibility internal': 'Internal: only operators read it',
};
const LABELS: Readonly<Record<string, string>> = { if_updated_at: 'Only if not changed since' };
const ELSEWHERE = ['operation', 'visitor', 'conversation', 'feature', 'operator', 'team'];

function decision(asked: Asked, { operation_id: id, own = false }: Approval): Html {
  const reject = actForm(asked, { action: `${APPROVALS}/${id}/reject`, button: 'Reject', tone: 'plain' });
  return html`<h2>Decide</h2>
${
  own
    ? html`<p>The app writes for you, and its credential wants another person to approve that. You can reject the write.</p>
<div class="decision">${reject}</div>`
    : html`<p>An approved write takes effect at once, and nobody can undo it here. A rejected one never takes effect.</p>
<div class="decision">${actForm(asked, { action: `${APPROVALS}/${id}/approve`, button: 'Approve' })}${reject}</div>`
}`;
}

const decide = (to: 'approve' | 'reject'): ConsoleAct => ({
  path: new RegExp(`^/console/approvals/(op_[a-f0-9]{64})/${to}$`),
  operation: `approval_${to}`,
  approvers: true,
  fields: [],
  from: ([id = '']) => `${APPROVALS}/${id}`,
  async run(asked) {
    const [id = ''] = asked.parameters;
    const decided = await decideWrite(asked, id, to === 'approve');
    if (decided.state === 'gone') return undefined;
    const notice = noticeOf(decided);
    if (notice !== undefined) return { to: `${APPROVALS}/${id}`, notice, target: id };
    return shown(asked, (now) => problemOf(decided, now));
  },
});

function noticeOf(decided: Decision): string | undefined {
  if (decided.state === 'rejected') return 'write_rejected';
  if (decided.state !== 'performed') return undefined;
  if (decided.status === 'outcome_unknown') return 'write_unknown';
  return decided.rejected === undefined ? 'write_approved' : 'write_refused';
}

function problemOf(decided: Decision, now: Approval): Html {
  if (decided.state === 'decided' || decided.state === 'lapsed')
    return changedMeanwhile(html`The write is ${WORDS[now.state]} now.`);
  return html`<div class="problem" role="alert"><p>The write still waits</p><p>${
    decided.state === 'refused'
      ? `It cannot take effect now. ${titleOf(decided.code)}`
      : 'Another person must approve it.'
  }</p></div>`;
}

export const approvalPages: readonly ConsolePage[] = [queue, approvalPage];
export const approvalActs: readonly ConsoleAct[] = [decide('approve'), decide('reject')];
