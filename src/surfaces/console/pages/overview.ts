import { listApps, listConsents, listCredentials, listPeople } from '../../../gateway/console/administration.ts';
import { html } from '../../http/html.ts';
import { EMAIL, named } from '../../http/pages/shell.ts';
import { short } from '../access.ts';
import { heading } from '../frame.ts';
import type { ConsolePage } from '../page.ts';
import { distance, ends, time } from '../parts.ts';
import { nameColumn, table } from '../table.ts';
import { appName } from './apps.ts';
import { usage } from './usage.ts';

/** Credentials that end within this number of days stand on the overview. */
const SOON = 14;
const FEW = { limit: 5, offset: 0 };

/** What an owner or admin looks for first: what ends soon, which apps have access, and who has come in. */
export const overview: ConsolePage = {
  path: /^\/console$/,
  operation: 'console_overview',
  async show(asked) {
    const { desk, person } = asked;
    const [calls, apps, ending, consents, people, here] = await Promise.all([
      usage(asked),
      listApps(desk, { access: 'active' }, FEW),
      listCredentials(desk, { endsWithin: SOON }, FEW),
      listConsents(desk, { state: 'active' }, FEW),
      listPeople(desk, {}, { limit: 1, offset: 0 }),
      listPeople(desk, { signedIn: true }, FEW),
    ]);
    return {
      title: 'Overview',
      body: html`${heading('Overview', html`Who may read the data of ${named(person.organization)}.`)}
${calls}
<h2>Access</h2>
<dl class="figures">
  <div><dt><a href="/console/apps?access=active">Apps with access</a></dt><dd>${apps.total}</dd></div>
  <div><dt><a href="/console/consents?state=active">Active consents</a></dt><dd>${consents.total}</dd></div>
  <div><dt><a href="/console/people">People</a></dt><dd>${people.total}</dd></div>
  <div><dt>Ending within ${SOON} days</dt><dd>${ending.total}</dd></div>
</dl>
<section><h2>Credentials that end soon</h2>
${
  ending.total === 0
    ? html`<p>No credential ends in the next ${SOON} days.</p>`
    : html`${table(
        'Credentials that end soon',
        [nameColumn('App'), 'Credential', 'Ends'],
        ending.rows.map((one) => [
          html`<a href="/console/apps/${one.app_id}">${appName({ name: one.app_name, client_host: one.client_host })}</a>`,
          html`<code>${one.id}</code>`,
          ends(one.expires_at),
        ]),
      )}<p class="small">The operator extends one with <code>gateway credential update CRD --expires 90d</code>. A client that a
person has connected asks that person again.</p>`
}
</section>
<section><h2>Newest consents</h2>
${
  consents.total === 0
    ? html`<p>No consent is active. A consent begins when an owner or admin approves an app.</p>`
    : table(
        'Newest consents',
        [nameColumn('App'), 'Person', 'May see', 'Given'],
        consents.rows.map((one) => [
          html`<a href="/console/consents/${one.id}">${appName({ name: one.app_name, client_host: one.client_host })}</a>`,
          named(one.email, EMAIL),
          short(one),
          html`${time(one.created_at)} <span class="small">${distance(one.created_at)}</span>`,
        ]),
      )
}
</section>
<section><h2>Signed in now</h2>
${table(
  'Signed in now',
  [nameColumn('Person'), 'Role', 'Signed in'],
  here.rows.map((one) => [
    html`<a href="/console/people/${one.id}">${named(one.email, EMAIL)}</a>`,
    one.role,
    one.signed_in_at
      ? html`${time(one.signed_in_at)} <span class="small">${distance(one.signed_in_at)}</span>`
      : undefined,
  ]),
)}
</section>`,
    };
  },
};
