import { MEMBERSHIPS_MAX, type Organization } from '../../../auth/memberships.ts';
import { type Html, html } from '../html.ts';
import { EMAIL, hostOf, named, plain, shell } from './shell.ts';

/** What the sign-in page says for a page of the gateway itself. */
export interface OwnPage {
  /** Why the person must sign in. */
  readonly lead: string;
  /** What only owners and admins can do. Completes the sentence "Only owners and admins of an organization can …". */
  readonly can: string;
  /** What the person does on the page where an organization is chosen. */
  readonly choose: string;
  /** The advice on an error page. */
  readonly advice: string;
}

export const RECORD: OwnPage = {
  lead: 'This address belongs to a conversation, a contact or a visitor of an organization. Sign in to see the record.',
  can: 'see records',
  choose: 'Choose the organization that has the record.',
  advice: 'No record was shown. You can close the page, or open the address of the record again.',
};

export const CONSOLE: OwnPage = {
  lead: 'The console shows who may read the data of your organization. Sign in to see it.',
  can: 'use the console. Approvers, whom a credential names, see what waits for them',
  choose: 'Choose the one that you want to see.',
  advice: 'Nothing was changed. You can close the page, or open the console again.',
};

/** The pages trust no text. Every text is escaped, isolated and cut. Each form action is a path with its query. */
export interface SignInView {
  readonly action: string;
  /** The organization and the app of an installed client. Absent for a client by URL. */
  readonly organization?: string;
  readonly app?: string;
  /** The client by URL that asks. Absent for an installed client. */
  readonly client?: { readonly host: string; readonly name: string };
  /** The host to which the person is sent after the decision. Absent for a page of the gateway itself. */
  readonly redirectHost?: string;
  /** The gateway's own page that asks for the sign-in. Absent for an app. */
  readonly own?: OwnPage;
  /** A sentence above the form that says why the person must sign in. */
  readonly note?: Html | string;
  /** The e-mail address of the last attempt. Empty on the first visit. */
  readonly email: string;
  readonly problem?: string;
  /** True while the person cannot sign in here, because too many attempts have failed. Then no field needs a correction. */
  readonly locked?: boolean;
  readonly identity?: { readonly action: string; readonly name: string };
}

export interface ErrorView {
  readonly title: string;
  readonly sentence: string;
  readonly requestId: string;
  /** A sentence that says what the person can do. By default, the sentence is for the request of an app. */
  readonly advice?: string;
  /** What is wrong with the request, for whoever builds the app. Never holds a value of the request. */
  readonly developer?: string | undefined;
  /** The path of the page to which a link leads. */
  readonly back?: string;
}

export interface OrganizationsView {
  readonly action: string;
  readonly signOut: string;
  /** The client by URL that asks. Absent for a page of the gateway itself. */
  readonly client?: { readonly host: string; readonly name: string };
  readonly own?: OwnPage;
  readonly organizations: readonly Organization[];
}

export function signInPage(view: SignInView): string {
  const { problem, identity, locked = false } = view;
  const described = problem === undefined ? undefined : html` aria-describedby="problem"`;
  const body = html`
<h1>Sign in</h1>
${
  problem === undefined
    ? undefined
    : html`<div class="problem" role="alert">
  <p id="problem">${plain(problem)}</p>
  ${locked ? undefined : html`<p><a href="#email">Check e-mail and password</a></p>`}
</div>`
}
${view.note === undefined ? undefined : html`<p class="note">${typeof view.note === 'string' ? plain(view.note) : view.note}</p>`}
<p class="lead">${asks(view)}</p>
<form method="post" action="${view.action}">
  <p class="field">
    <label for="email">E-mail</label>
    <input id="email" name="email" type="email" value="${plain(view.email, EMAIL)}" autocomplete="username" autocapitalize="none" spellcheck="false" required${described}>
  </p>
  <p class="field">
    <label for="password">Password</label>
    <input id="password" name="password" type="password" autocomplete="current-password" required${described}>
  </p>
  ${view.app === undefined ? ORGANIZATION : undefined}
  <p class="buttons"><button class="main" type="submit">Sign in</button></p>
</form>
${
  identity
    ? html`<p class="or">or</p>
<p class="buttons"><a class="button" href="${identity.action}">Sign in with ${named(identity.name)}</a></p>`
    : undefined
}
<ul class="small">
  <li>Only owners and admins of ${view.app === undefined ? 'an' : 'the'} organization can ${view.own?.can ?? 'decide'}.</li>
  ${
    view.redirectHost === undefined
      ? undefined
      : html`<li>After your decision you are sent to ${hostOf(view.redirectHost)}. If you did not come from there, close this page.</li>`
  }
</ul>`;
  return shell({ title: problem === undefined ? 'Sign in' : 'Problem: Sign in', kind: 'narrow', body });
}

/** The host stands before the name, because the client chooses its name. */
const asks = ({ client, app = '', organization = '', own }: SignInView): Html =>
  own
    ? html`${own.lead}`
    : html`${
        client
          ? html`${hostOf(client.host)}, which calls itself ${named(client.name)}, asks for access to data of your organization.`
          : html`${named(app)} asks for access to data of ${named(organization)}.`
      }
Sign in to see what the app asks for. The app gets nothing before you approve.`;

const ORGANIZATION = html`<p class="field">
    <label for="organization">Organization (only if you belong to more than three)</label>
    <input id="organization" name="organization" type="text" autocomplete="organization" autocapitalize="none" spellcheck="false">
  </p>`;

/** The page on which a person of several organizations chooses one after the sign-in. */
export function organizationsPage({ action, signOut, client, own, organizations }: OrganizationsView): string {
  const body = html`
<h1>Choose an organization</h1>
<p class="lead">You belong to several organizations. ${
    client
      ? html`${hostOf(client.host)}, which calls itself ${named(client.name)}, can get
access to data of one of them. The app gets nothing before you approve on the next page.`
      : own?.choose
  }</p>
<form method="post" action="${action}">
  ${organizations.map(
    ({ id, name, token }) => html`
  <p class="buttons"><button type="submit" name="choose" value="${token}">${named(name)} <span class="small"><code>${id}</code></span></button></p>`,
  )}
</form>${
    organizations.length < MEMBERSHIPS_MAX
      ? undefined
      : html`
<p class="small">This page has ${MEMBERSHIPS_MAX} organizations at most. If yours is missing, sign out. Then sign in
with a password, and name the organization. Without a password, ask the operator for a one-time link.</p>`
  }
<form method="post" action="${signOut}"><p><button class="plain" type="submit">Sign out</button></p></form>`;
  return shell({ title: 'Choose an organization', kind: 'narrow', body });
}

const OF_APP = 'The app got nothing from this page. You can close the page, or go back to the app and start again.';

/** The error page. It has no link to the app, because the app's redirect URI is not verified. */
export function errorPage({ title, sentence, requestId, advice = OF_APP, developer, back }: ErrorView): string {
  const body = html`
<h1>${plain(title)}</h1>
<p class="lead">${plain(sentence)}</p>
<p>${advice}</p>${
    developer === undefined
      ? undefined
      : html`
<p class="small">For the developer: ${developer}</p>`
  }${back === undefined ? undefined : html`<p><a href="${back}">Back to the page</a></p>`}
<p class="small">If this problem happens again, tell the operator of this gateway the request id: <code>${requestId}</code></p>`;
  return shell({ title: plain(title), kind: 'narrow', body });
}
