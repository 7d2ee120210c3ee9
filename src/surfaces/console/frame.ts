import type { AdministratorRecord } from '../../gateway/console/desk.ts';
import { type Html, html } from '../http/html.ts';
import { EMAIL, named, plain, shell } from '../http/pages/shell.ts';
import { noticeOf } from './notices.ts';
import type { ShownPage } from './page.ts';

/** The path of the stylesheet of the console. Its colours are those of oauth.css. */
export const STYLE = '/console/console.css';

export const APPROVALS = '/console/approvals';

/** The navigation. A page whose address begins with one of these belongs to it. */
const NAVIGATION = [
  ['/console', 'Overview'],
  ['/console/apps', 'Apps'],
  ['/console/consents', 'Consents'],
  [APPROVALS, 'Approvals'],
  ['/console/audit', 'Audit'],
  ['/console/webhooks', 'Webhooks'],
  ['/console/sources', 'Sources'],
  ['/console/people', 'People'],
] as const;

const isCurrent = (path: string, entry: string): boolean =>
  path === entry || (entry === '/console' ? path === '/console/usage' : path.startsWith(`${entry}/`));

/** A page of the console in its frame: skip link, organization, navigation and sign-out. */
export function framed(
  { title, body }: ShownPage,
  { path, person, notice }: { path: string; person: AdministratorRecord; notice?: string | undefined },
): string {
  const said = noticeOf(notice, path);
  const approver = person.role === 'operator';
  return shell({
    title: `${plain(title, 120)} · Console`,
    kind: 'console',
    style: STYLE,
    body: html`<a class="skip" href="#content">Skip to the content</a>
<header class="bar top">
  <p class="brand">Installation Gateway <span class="of">${named(person.organization)}</span></p>
  <form class="account" method="post" action="/console/sign-out">
    <span class="small">${named(person.email, EMAIL)} · ${approver ? 'approver' : person.role}</span>
    <button class="plain" type="submit">Sign out</button>
  </form>
</header>
<div class="console">
<nav class="rooms" aria-label="Console"><ul>${NAVIGATION.filter(([href]) => !approver || href === APPROVALS).map(
      ([href, label]) => html`
  <li><a href="${href}"${isCurrent(path, href) ? html` aria-current="page"` : undefined}>${label}${href === APPROVALS && person.waiting > 0 ? html` <span class="count">${person.waiting}</span>` : undefined}</a></li>`,
    )}
</ul></nav>
<main id="content" tabindex="-1">
${said === undefined ? undefined : html`<p class="done" role="status">${said}</p>`}
${body}
<p class="small zone">Times are in UTC.</p>
</main>
</div>`,
  });
}

/** The page for an address that has nothing for this organization. */
export const missing = (): ShownPage => ({
  status: 404,
  title: 'Not found',
  body: html`<h1>Not found</h1>
<p class="lead">Your organization has nothing at this address.</p>
<p><a href="/console">Go to the start of the console</a></p>`,
});

/** The page after a change that was not made. */
export const unchanged = (): ShownPage => ({
  status: 409,
  title: 'Nothing was changed',
  body: html`<h1>Nothing was changed</h1>
<p class="lead">You may not make this change, or somebody else was faster.</p>
<p>Nobody can change their own role or disable themselves, and only an owner can change an owner. <a href="/console">Go to the
overview</a> and look at the present state.</p>`,
});

/** The heading of a page. `action` is the link to what people most often do there. */
export const heading = (title: Html | string, lead?: Html | string, action?: Html): Html => html`<div class="heading">
<div><h1>${title}</h1>
${lead === undefined ? undefined : html`<p class="lead">${lead}</p>`}</div>${action}
</div>`;
