import type { Resource } from '../../../core/authority.ts';
import { CLASSES, GROUPS, SCOPE_TEXTS, type ScopeGroup, type ScopeText } from '../../../core/scope-texts.ts';
import type { DataAccess, Scope } from '../../../core/scopes.ts';
import { type Html, html } from '../../http/html.ts';
import { EMAIL, hostOf, INTERFACES, named, plain, shell } from '../../http/pages/shell.ts';
import { type ByUrlView, checked, client, dataAccess, durations, flagged, LOOPBACK, listed } from './by-url.ts';

export interface ConsentView {
  readonly action: string;
  readonly signOut: string;
  readonly csrf: string;
  readonly organization: string;
  readonly app: string;
  readonly environment: 'live' | 'test';
  readonly redirectHost: string;
  /** E-mail address of the signed-in person. */
  readonly person: string;
  readonly resource: Resource;
  /** How long the app can renew its access if the person allows the renewal, in hours. */
  readonly hours: number;
  /** Lifetime of an access token, in minutes. */
  readonly minutes: number;
  /** The scopes that the app asks for, in the order of the constant `SCOPES`. */
  readonly scopes: readonly Scope[];
  readonly dataAccess: readonly DataAccess[];
  /** True when the app's credential has channel, team or subsite restrictions. */
  readonly restricted: boolean;
  readonly websites: readonly { readonly id: string; readonly name: string; readonly timeZone: string }[];
  /** The person's choice in a form that was already sent. The page ticks the same checkboxes again. */
  readonly chosen?: {
    readonly scopes: readonly string[];
    readonly websites: readonly string[];
    readonly renewal: boolean;
  };
  readonly problem?: string;
  /** Present for a client by URL. `app` is then the name that the client gives to itself. */
  readonly byUrl?: ByUrlView;
}

export function consentPage(view: ConsentView): string {
  const groups = GROUPS.map((group, number) => ({
    ...group,
    id: `group-${number}`,
    scopes: group.scopes.filter((one) => view.scopes.includes(one)),
  }));
  const body = html`
<h1>Approve access for ${view.byUrl ? hostOf(view.byUrl.host) : named(view.app)}?</h1>
${problem(view)}
${view.byUrl?.loopback ? LOOPBACK : undefined}
${facts(view)}
${jumps(view)}
<form class="consent" id="consent" method="post" action="${view.action}" autocomplete="off">
  ${NO_DEFAULT}
  <input type="hidden" name="csrf" value="${view.csrf}">
  <section id="permissions" aria-labelledby="permissions-title">
    <h2 id="permissions-title">Permissions</h2>
    <p>${view.chosen ? '' : 'Nothing was ticked for you. '}Tick only what you want the app to have. The app gets nothing else.</p>
    ${view.restricted ? RESTRICTED : undefined}
    ${groups.filter(({ scopes }) => scopes.length > 0).map((group) => groupSet(group, view))}
  </section>
  ${view.byUrl ? dataAccess(view.byUrl) : undefined}
  ${websites(view)}
  ${view.byUrl ? durations(view.byUrl) : duration(view)}
  ${decision(view)}
</form>
${BAR}`;
  return shell({
    title: view.problem === undefined ? 'Approve access' : 'Problem: Approve access',
    kind: 'wide',
    body,
  });
}

/**
 * When a person presses Enter on a checkbox, Chromium 147 clicks the first enabled button of the form. This hidden
 * button is the first button and does nothing, so nobody approves by accident. The button does nothing because its
 * method `dialog` has an effect only inside a dialog element.
 */
const NO_DEFAULT = html`<button type="submit" formmethod="dialog" hidden></button>`;

const RESTRICTED = html`<p class="note">The app’s credential is limited to some channels, teams or subsites. Conversations
outside these limits stay hidden. Operations that need a credential without limits are refused, even if you tick them.</p>`;

function problem({ problem: sentence, chosen, byUrl }: ConsentView): Html | undefined {
  if (sentence === undefined) return undefined;
  const links = [
    ...(chosen?.scopes.length === 0 ? [html`<li><a href="#permissions">Go to the permissions</a></li>`] : []),
    ...(chosen?.websites.length === 0 ? [html`<li><a href="#websites">Go to the websites</a></li>`] : []),
    ...(byUrl && byUrl.duration === undefined ? [html`<li><a href="#duration">Go to the duration</a></li>`] : []),
  ];
  return html`<div class="problem" role="alert">
  <p>${plain(sentence)}</p>
  <ul>${links.length > 0 ? links : html`<li><a href="#permissions">Go through the permissions again</a></li>`}</ul>
</div>`;
}

const facts = (view: ConsentView): Html => html`
<dl class="facts">
  ${view.byUrl ? client(view.byUrl, view.app) : html`<div><dt>App</dt><dd class="name">${named(view.app)}</dd></div>`}
  <div><dt>Organization</dt><dd class="name">${named(view.organization)}</dd></div>
  <div><dt>You are sent to</dt><dd>${hostOf(view.redirectHost)} <span class="small">If you did not come from there, close this page.</span></dd></div>
  <div><dt>Signed in as</dt><dd>${named(view.person, EMAIL)}
    <form method="post" action="${view.signOut}"><button class="plain" type="submit">Sign out</button></form></dd></div>
  <div><dt>Interface</dt><dd>${INTERFACES[view.resource]} <span class="small">The access works only on this interface.</span></dd></div>
  <div><dt>Environment</dt><dd>${
    view.environment === 'test'
      ? html`<strong>Test</strong> <span class="small">The app uses a test credential. A test credential reaches the same data as a live credential.</span>`
      : 'Live'
  }</dd></div>
</dl>`;

const jumps = ({ scopes, websites: sites, byUrl }: ConsentView): Html => html`
<nav aria-label="On this page">
  <ul>
    <li><a href="#permissions">Permissions (${scopes.length})</a></li>
    ${byUrl ? html`<li><a href="#data-access">Data access</a></li>` : undefined}
    <li><a href="#websites">Websites (${sites.length})</a></li>
    <li><a href="#duration">For how long</a></li>
    <li><a href="#decision">Decision</a></li>
  </ul>
</nav>`;

const groupSet = ({ id, title, sentence, scopes }: ScopeGroup & { id: string }, view: ConsentView): Html => html`
<fieldset id="${id}" aria-describedby="about-${id}">
  <legend>${title}</legend>
  <p class="small" id="about-${id}">${sentence}</p>
  ${tickAll(id, scopes.length, title, view)}
  <div class="cards">${scopes.map((scope) => scopeCard(scope, view))}
  </div>
</fieldset>`;

/**
 * Two buttons that tick or untick all boxes of a part. The stylesheet shows the button that has an effect. The gateway
 * answers with the same page and other ticks, because the page has no script. The address never carries ticks, so no
 * link leads to a page with ticks.
 */
function tickAll(part: string, count: number, title: string, { action }: ConsentView): Html | undefined {
  if (count < 2) return undefined;
  const button = (does: 'tick' | 'untick', text: string): Html => html`
    <button class="plain ${does}" type="submit" name="decision" value="${does}-${part}" formaction="${action}#${part}" aria-label="${text} in ${title}">${text}</button>`;
  return html`<p class="all">${button('tick', `Tick all ${count}`)}${button('untick', `Untick all ${count}`)}
  </p>`;
}

function scopeCard(scope: Scope, view: ConsentView): Html {
  const text = SCOPE_TEXTS[scope];
  return html`
    <div class="card">
      <input type="checkbox" id="scope-${scope}" name="scope" value="${scope}" aria-describedby="about-${scope}"${checked(view.chosen?.scopes.includes(scope))}>
      <div>
        <label for="scope-${scope}">${text.title}</label>
        <div id="about-${scope}">
          ${marks(text)}
          <p>${text.sentence}</p>
          ${together(text, view.scopes)}
          ${view.byUrl ? flagged(text) : masked(text, view.dataAccess)}
          <p class="small"><code>${scope}</code></p>
        </div>
      </div>
    </div>`;
}

/** Labels for personal data, texts and writes. The labels are words, because some people cannot distinguish colours. */
function marks({ reveals, acts }: ScopeText): Html | undefined {
  const words = [
    ...(acts === 'writes' ? [html`<li class="writes">Writes</li>`] : []),
    ...(acts === 'runs' ? [html`<li>Runs, changes no data</li>`] : []),
    ...reveals.map((one) => html`<li>Shows ${CLASSES[one]}</li>`),
  ];
  return words.length > 0 ? html`<ul class="marks">${words}</ul>` : undefined;
}

function together(text: ScopeText, asked: readonly Scope[]): Html | undefined {
  if (text.together.length === 0) return undefined;
  const names = text.together.map((one) => `${SCOPE_TEXTS[one].title}${asked.includes(one) ? '' : ' (not asked for)'}`);
  return html`<p class="small">Works only together with: ${names.join(', ')}.</p>`;
}

function masked({ flags, acts }: ScopeText, held: readonly DataAccess[]): Html | undefined {
  const missing = flags.filter((flag) => !held.includes(flag)).map((flag) => CLASSES[flag]);
  if (missing.length === 0) return undefined;
  const [what, outcome] = acts ? ['Refused', 'the app cannot do this'] : ['Masked', 'the app does not see this data'];
  return html`<p class="small masked"><strong>${what}:</strong> the app’s credential has no access to ${listed(missing)}, so ${outcome}.</p>`;
}

const websites = (view: ConsentView): Html => {
  const { websites: all, chosen } = view;
  return html`
<fieldset class="part" id="websites" aria-describedby="websites-about">
  <legend>Websites</legend>
  <p id="websites-about">${
    all.length === 0
      ? 'The app’s credential has no website, so there is nothing to approve.'
      : 'The permissions hold only for the websites that you tick. New websites are never added automatically.'
  }</p>
  ${tickAll('websites', all.length, 'Websites', view)}
  <div class="sites">${all.map(
    ({ id, name, timeZone }) => html`
    <div class="card">
      <input type="checkbox" id="website-${id}" name="website_id" value="${id}" aria-describedby="about-${id}"${checked(chosen?.websites.includes(id))}>
      <div>
        <label for="website-${id}">${named(name)}</label>
        <p class="small" id="about-${id}">${named(timeZone)} · <code>${id}</code></p>
      </div>
    </div>`,
  )}
  </div>
</fieldset>`;
};

const duration = ({ minutes, hours, chosen }: ConsentView): Html => html`
<fieldset class="part" id="duration">
  <legend>For how long</legend>
  <div class="card">
    <input type="checkbox" id="renewal" name="renewal" value="yes" aria-describedby="renewal-about"${checked(chosen?.renewal)}>
    <div>
      <label for="renewal">Let the app renew its access for up to ${hours} hours</label>
      <p id="renewal-about">Without this tick, the access ends after ${minutes} minutes, and the app must ask you again.
      With this tick, the app can renew the access without asking you, for at most ${hours} hours from now.</p>
    </div>
  </div>
</fieldset>`;

const decision = (view: ConsentView): Html => html`
<section class="part" id="decision" aria-labelledby="decision-title">
  <h2 id="decision-title">Decision</h2>
  <ul>
    <li>After either choice you are sent to ${hostOf(view.redirectHost)}. If you deny, the app gets nothing.</li>
    <li>${ends(view)}</li>
    <li>The access can end sooner. You, and every owner or admin, can end the access in the console under Consents. The
    operator of this gateway can end it with <code>gateway consent revoke</code>, and the app can give it back. The access
    also ends when the app’s credential ends, and when you stop being an owner or admin.</li>
  </ul>
</section>`;

const ends = ({ byUrl, minutes, hours }: ConsentView): string =>
  byUrl
    ? 'The access ends after the time that you choose. If the app does not use the access for a quarter of that time, the access ends then.'
    : `The access ends after ${minutes} minutes, or after ${hours} hours if you let the app renew it.`;

/** The bar stands outside the form, because a bar inside the form would be out of sight above the form. */
const BAR = html`<div class="decide" role="group" aria-label="Your decision">
  <p class="chosen"></p>
  <p class="buttons">
    <button class="main" type="submit" form="consent" name="decision" value="approve">Approve</button>
    <button type="submit" form="consent" name="decision" value="deny">Deny</button>
  </p>
</div>`;
