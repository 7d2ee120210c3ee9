import { pick } from '../../../core/json.ts';
import {
  type ConsentRecord,
  endConsent,
  findConsent,
  listConsents,
  websiteNames,
} from '../../../gateway/console/administration.ts';
import { html } from '../../http/html.ts';
import { EMAIL, INTERFACES, named } from '../../http/pages/shell.ts';
import { limits, permissions, sensitive, short, websites } from '../access.ts';
import { COLUMNS } from '../columns.ts';
import { heading } from '../frame.ts';
import type { ConsoleAct, ConsolePage } from '../page.ts';
import { dangerous, ends, facts, state, time } from '../parts.ts';
import { empty, exported, list, nameColumn, table, titled } from '../table.ts';
import { appName } from './apps.ts';

const CONSENTS = '/console/consents';
const STATES = ['active', 'expired', 'revoked'] as const;
const TONES = { active: 'good', expired: 'off', revoked: 'off' } as const;
const REASONS: Readonly<Record<string, string>> = {
  revoked: 'by an administrator',
  client: 'by the app',
  code_misused: 'because its code was used twice or wrongly',
  refresh_reused: 'because a refresh token was used twice',
  person: 'because the person was disabled or lost the role',
  credential: 'with its credential',
  replaced: 'by a newer approval',
  host: 'because the operator no longer accepts the host',
  time: 'because its time is over',
  credential_expired: 'with its credential',
  unused: 'because it was not used',
};

const name = (record: ConsentRecord) => appName({ name: record.app_name, client_host: record.client_host });

const consentList: ConsolePage = {
  path: /^\/console\/consents$/,
  operation: 'console_consents',
  async show(asked) {
    const { query } = asked;
    const search = {
      state: query.one('state', STATES),
      app: query.text('app'),
      person: query.text('person'),
      text: query.text('q'),
    };
    const { rows, total } = await listConsents(asked.desk, search, query.slice);
    const file = exported(asked, 'consents', COLUMNS.consents, rows.map(consentDocument));
    if (file) return file;
    return {
      title: 'Consents',
      body: html`${heading('Consents', 'What owners and admins have permitted apps to see, and until when.')}
${list({
  path: CONSENTS,
  query,
  noun: ['consent', 'consents'],
  total,
  filters: [
    { name: 'q', label: 'Person or app' },
    { name: 'state', label: 'State', choices: titled(STATES) },
    ...(search.app === undefined ? [] : [{ name: 'app', label: 'App id' }]),
    ...(search.person === undefined ? [] : [{ name: 'person', label: 'Person id' }]),
  ],
  table: table(
    'Consents',
    [nameColumn('App'), 'Person', 'May see', 'State', 'Ends'],
    rows.map((one) => [
      html`<a href="${CONSENTS}/${one.id}">${name(one)}</a>`,
      named(one.email, EMAIL),
      html`${short(one)} <span class="small">${INTERFACES[one.resource]}, ${one.website_ids.length} website${one.website_ids.length === 1 ? '' : 's'}</span>`,
      state(one.state, TONES[one.state]),
      one.state === 'active' ? ends(one.expires_at) : time(one.revoked_at ?? one.expires_at),
    ]),
  ),
  empty: empty(
    'Nobody has approved an app yet',
    html`A consent begins when an app sends an owner or admin to the consent page. It stays in this list for 30 days after
its end. <a href="/docs/clients">Connect a client</a>`,
  ),
})}`,
    };
  },
};

const consentDocument = (one: ConsentRecord): Record<string, unknown> => ({
  consent_id: one.id,
  ...pick(one, 'app_id', 'app_name', 'client_host', 'credential_id', 'person_id', 'email', 'resource', 'scopes'),
  ...pick(one, 'data_access', 'website_ids', 'state', 'because', 'created_at', 'expires_at', 'revoked_at'),
});

const consentPage: ConsolePage = {
  path: /^\/console\/consents\/(cns_[a-f0-9]{32})$/,
  operation: 'console_consent',
  async show(asked) {
    const [id = ''] = asked.parameters;
    const [one, names] = await Promise.all([findConsent(asked.desk, id), websiteNames(asked.desk)]);
    if (!one) return undefined;
    const why = REASONS[one.because ?? ''];
    return {
      title: `Consent to ${one.client_host ?? one.app_name}`,
      body: html`<p class="up"><a href="${CONSENTS}">Consents</a></p>
${heading(html`Consent to ${name(one)}`)}
${facts([
  [
    'State',
    html`${state(one.state, TONES[one.state])}${why === undefined ? undefined : html` <span class="small">${why}</span>`}`,
  ],
  ['Given by', html`<a href="/console/people/${one.person_id}">${named(one.email, EMAIL)}</a>`],
  ['Given', time(one.created_at)],
  one.revoked_at ? ['Revoked', time(one.revoked_at)] : ['Ends', ends(one.expires_at)],
  ['App', html`<a href="/console/apps/${one.app_id}">${name(one)}</a>`],
  ['Interface', INTERFACES[one.resource]],
  ['Websites', websites(one.website_ids, names)],
  ['Sensitive data', sensitive(one)],
  ['Limits', limits(one)],
  ['Id', html`<code>${one.id}</code>`],
])}
<h2>What it may see</h2>
<p class="small">A token needs the permission of the consent and of the app’s credential.</p>
${permissions(one)}
${
  one.state === 'active'
    ? dangerous(asked, {
        summary: 'Revoke this consent',
        says: html`Its tokens end at once and for ever. The app can ask a person for approval again.`,
        action: `${CONSENTS}/${one.id}/revoke`,
        button: 'Revoke consent',
      })
    : undefined
}`,
    };
  },
};

const revoke: ConsoleAct = {
  path: /^\/console\/consents\/(cns_[a-f0-9]{32})\/revoke$/,
  operation: 'consent_revoke',
  fields: [],
  from: ([id = '']) => `${CONSENTS}/${id}`,
  async run({ desk, parameters: [id = ''] }) {
    const ended = await endConsent(desk, id);
    if (ended?.state !== 'revoked') return undefined;
    return { to: `${CONSENTS}/${id}`, notice: 'consent_revoked', target: id };
  },
};

export const consentPages: readonly ConsolePage[] = [consentList, consentPage];
export const consentActs: readonly ConsoleAct[] = [revoke];
