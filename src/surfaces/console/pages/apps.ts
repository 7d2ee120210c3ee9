import { waitsOf } from '../../../core/authority.ts';
import { pick } from '../../../core/json.ts';
import {
  type AppSummary,
  type CredentialRecord,
  endCredential,
  findApp,
  findCredential,
  listApps,
  listCredentials,
  websiteNames,
} from '../../../gateway/console/administration.ts';
import { type Html, html } from '../../http/html.ts';
import { EMAIL, hostOf, named } from '../../http/pages/shell.ts';
import { limits, permissions, sensitive, websites } from '../access.ts';
import { COLUMNS } from '../columns.ts';
import { heading } from '../frame.ts';
import type { Asked, ConsoleAct, ConsolePage } from '../page.ts';
import { commands, dangerous, ends, facts, state, time } from '../parts.ts';
import { ROWS } from '../query.ts';
import { empty, exported, list, nameColumn, numberColumn, table, titled } from '../table.ts';

const APPS = '/console/apps';
const KINDS = [
  ['installed', 'Installed'],
  ['by_url', 'Connected by a person'],
] as const;
const ACCESS = [
  ['active', 'With access'],
  ['none', 'Without access'],
] as const;

/** The host stands before the name, because a client by URL chooses its own name. */
export const appName = ({ name, client_host }: Pick<AppSummary, 'name' | 'client_host'>): Html =>
  client_host === null
    ? named(name)
    : html`${hostOf(client_host)} <span class="small">calls itself ${named(name)}</span>`;

const appList: ConsolePage = {
  path: /^\/console\/apps$/,
  operation: 'console_apps',
  async show(asked) {
    const { query } = asked;
    const search = {
      kind: query.one('kind', ['installed', 'by_url']),
      access: query.one('access', ['active', 'none']),
      text: query.text('q'),
    };
    const [{ rows, total }, names] = await Promise.all([
      listApps(asked.desk, search, query.slice),
      websiteNames(asked.desk),
    ]);
    const file = exported(asked, 'apps', COLUMNS.apps, rows.map(appDocument));
    if (file) return file;
    const shown = rows.map((app) => [
      html`<a href="${APPS}/${app.id}">${appName(app)}</a>`,
      app.client_host === null ? 'Installed' : 'Connected by a person',
      app.active_credentials === 0 ? state('no access', 'off') : html`${app.active_credentials} active`,
      app.active_consents,
      app.next_end ? ends(app.next_end) : undefined,
    ]);
    return {
      title: 'Apps',
      body: html`${heading('Apps', 'Every program that can read your organization’s data, and what it may see.', html`<a class="button" href="#add">Add an app</a>`)}
${list({
  path: APPS,
  query,
  noun: ['app', 'apps'],
  total,
  filters: [
    { name: 'q', label: 'Name or host' },
    { name: 'kind', label: 'Kind', choices: KINDS },
    { name: 'access', label: 'Access', choices: ACCESS },
  ],
  table: table('Apps', [nameColumn('App'), 'Kind', 'Credentials', numberColumn('Consents'), 'Next to expire'], shown),
  empty: empty(
    'No app is connected yet',
    html`Paste this gateway’s MCP address into a client, and approve it. Or the operator of this gateway adds an app, as
below. <a href="/docs/clients">Connect a client</a>`,
  ),
})}
<details class="more"><summary>Add an app</summary>
<p id="add">A client that knows this gateway’s MCP address adds itself when a person approves it. The operator of this gateway adds
any other app:</p>
${commands(`gateway app create --organization ${asked.person.organization_id} --name "My app"`, issuing('"My app"', names))}
</details>`,
    };
  },
};

/** The command that issues a credential. It reads one website, and says where the operator chooses more. */
const issuing = (app: string, names: ReadonlyMap<string, string>): string =>
  `gateway credential issue --installation ${app} --environment live --website ${[...names.keys()][0] ?? 'WEBSITE'} --scopes read`;

const appDocument = (app: AppSummary): Record<string, unknown> => ({
  app_id: app.id,
  ...pick(app, 'name', 'client_host', 'active_credentials', 'active_consents'),
  ...pick(app, 'switched_off', 'next_end', 'created_at'),
});

const STATES = ['active', 'expired', 'revoked'] as const;

const appPage: ConsolePage = {
  path: /^\/console\/apps\/(app_[a-f0-9]{32})$/,
  operation: 'console_app',
  async show(asked) {
    const {
      query,
      parameters: [id = ''],
    } = asked;
    const wanted = query.one('state', STATES);
    const [app, { rows, total }, names] = await Promise.all([
      findApp(asked.desk, id),
      listCredentials(asked.desk, { app: id, state: wanted }, query.slice),
      websiteNames(asked.desk),
    ]);
    if (!app) return undefined;
    const file = exported(asked, `credentials-${id}`, COLUMNS.credentials, rows.map(credentialDocument));
    if (file) return file;
    const several = total > ROWS || query.page > 1 || wanted !== undefined;
    return {
      title: app.client_host ?? app.name,
      body: html`<p class="up"><a href="${APPS}">Apps</a></p>
${heading(app.client_host === null ? named(app.name) : hostOf(app.client_host), app.client_host === null ? undefined : html`The app calls itself ${named(app.name)}. The gateway has checked only the host.`, app.client_host === null ? html`<a class="button" href="#issue">Issue a credential</a>` : undefined)}
${facts([
  ['Id', html`<code>${app.id}</code>`],
  ['Created', time(app.created_at)],
  [
    'Consents',
    app.active_consents === 0
      ? 'None is active'
      : html`<a href="/console/consents?app=${app.id}">${app.active_consents} active</a>`,
  ],
  ['Audit', html`<a href="/console/audit?app=${app.id}">Records of this app</a>`],
  [
    'Operations',
    html`<a href="${APPS}/${app.id}/operations">${app.switched_off.length === 0 ? 'None is switched off' : `${app.switched_off.length} switched off`}</a>`,
  ],
])}
<h2>What it may see</h2>
${list({
  path: `${APPS}/${id}`,
  query,
  noun: ['credential', 'credentials'],
  total,
  // Most apps have a few credentials.
  filters: several ? [{ name: 'state', label: 'State', choices: titled(STATES) }] : [],
  table: html`${rows.map((one) => credentialCard(asked, one, names))}`,
  empty: empty(
    'This app has no credential',
    html`It cannot read anything. The operator of this gateway issues a credential, as below.`,
  ),
})}
${
  app.client_host === null
    ? html`<details class="more"${rows.length === 0 ? html` open` : undefined}><summary>Issue a credential</summary>
<p id="issue">The operator of this gateway runs this command. It shows the secret once. <code>--help</code> lists the permissions.</p>
${commands(issuing(app.id, names))}
</details>`
    : undefined
}`,
    };
  },
};

const credentialDocument = (one: CredentialRecord): Record<string, unknown> => ({
  credential_id: one.id,
  ...pick(one, 'app_id', 'client_host', 'environment', 'state'),
  website_ids: one.sites.map((site) => `web_${one.tenant}_${site}`),
  ...pick(one, 'scopes', 'data_access', 'channel_ids', 'team_ids', 'subsite_ids', 'allow_ip', 'write'),
  approve: waitsOf(one),
  approvers: one.approver_emails,
  usable_tokens: one.client_host === null ? one.usable_tokens : null,
  ...pick(one, 'expires_at', 'revoked_at', 'created_at'),
});

function credentialCard(asked: Asked, one: CredentialRecord, names: ReadonlyMap<string, string>): Html {
  const active = one.state === 'active';
  const ids = one.sites.map((site) => `web_${one.tenant}_${site}`);
  return html`
<section class="panel" aria-labelledby="${one.id}">
<h3 id="${one.id}"><code>${one.id}</code> ${state(one.state, active ? 'good' : 'off')} ${one.environment === 'test' ? state('test', 'warn') : undefined}</h3>
${facts([
  ['Websites', websites(ids, names)],
  ['Sensitive data', sensitive(one)],
  ['Limits', limits(one)],
  one.allow_ip.length > 0 ? ['Addresses', `Only ${one.allow_ip.join(', ')}`] : undefined,
  one.write.length > 0 ? ['May also', html`<code>${one.write.join(', ')}</code>`] : undefined,
  waitsOf(one).length > 0
    ? [
        'Waits for approval',
        html`<code>${waitsOf(one).join(', ')}</code>${one.approval_by === 'others' ? html` <span class="small">of another person</span>` : undefined}`,
      ]
    : undefined,
  one.approvers.length > 0
    ? [
        'Approvers',
        html`${one.approver_emails.map((email) => html`${named(email, EMAIL)} `)}<span class="small">besides owners and admins</span>`,
      ]
    : undefined,
  one.state === 'revoked' && one.revoked_at ? ['Revoked', time(one.revoked_at)] : ['Expires', ends(one.expires_at)],
  one.client_host === null ? ['Usable tokens', String(one.usable_tokens)] : undefined,
])}
${permissions(one)}
${
  active && one.client_host === null
    ? html`<details class="more"><summary>Extend it, or change what it may see</summary>
<p>The operator of this gateway runs this command. <code>--help</code> lists what else it can change.</p>
${commands(`gateway credential update ${one.id} --expires 90d`)}
</details>`
    : undefined
}
${
  active
    ? dangerous(asked, {
        summary: one.client_host === null ? 'Revoke this credential' : 'Disconnect this client',
        says:
          one.client_host === null
            ? html`Its secret, its tokens and its consents end at once and for ever. The app gets 401 from its next request on.`
            : html`Its consent and its tokens end at once. The client can ask a person for approval again.`,
        action: `/console/credentials/${one.id}/revoke`,
        button: one.client_host === null ? 'Revoke credential' : 'Disconnect client',
      })
    : undefined
}
</section>`;
}

const revoke: ConsoleAct = {
  path: /^\/console\/credentials\/(crd_[a-f0-9]{32})\/revoke$/,
  operation: 'credential_revoke',
  fields: [],
  from: () => APPS,
  async run({ desk, parameters: [id = ''] }) {
    const before = await findCredential(desk, id);
    const ended = before && (await endCredential(desk, id));
    return ended && { to: `${APPS}/${before.app_id}`, notice: 'credential_revoked', target: id };
  },
};

export const appPages: readonly ConsolePage[] = [appList, appPage];
export const appActs: readonly ConsoleAct[] = [revoke];
