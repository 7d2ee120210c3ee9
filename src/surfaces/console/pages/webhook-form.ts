import { type Parameters, single } from '../../../auth/oauth/parameters.ts';
import { EVENT_FAMILIES } from '../../../core/events.ts';
import { Refused } from '../../../core/refused.ts';
import { type CredentialRecord, listCredentials, websiteNames } from '../../../gateway/console/administration.ts';
import {
  descriptionProblem,
  type EndpointRecord,
  shownReceiver,
  typesProblem,
  type WebhookForm,
} from '../../../gateway/console/webhooks.ts';
import { type Html, html } from '../../http/html.ts';
import { named, plain } from '../../http/pages/shell.ts';
import { heading } from '../frame.ts';
import type { Asked, ShownPage } from '../page.ts';
import { actForm, changedMeanwhile, facts } from '../parts.ts';
import { empty, options } from '../table.ts';
import { SHOWN, WEBHOOKS } from './webhooks.ts';

/** The credentials that the form can show. */
const CREDENTIALS = { limit: 200, offset: 0 };
/** The checkbox of a family. `website` alone is the field of the website. */
const boxOf = (family: string): string => `all_${family}`;
export const FIELDS = ['credential', 'website', 'url', 'description', 'types', ...EVENT_FAMILIES.map(boxOf)];

interface WebhookGiven extends Omit<WebhookForm, 'was'> {
  readonly problem?: string;
  /** The webhook as it is now, if it was changed after the form was shown. */
  readonly now?: EndpointRecord;
}

export const EMPTY: WebhookGiven = {
  credential: '',
  website: '',
  url: '',
  description: '',
  eventTypes: EVENT_FAMILIES.map((family) => `${family}.*`),
};

export function formOf(form: Parameters): Omit<WebhookForm, 'was'> {
  const text = (name: string): string => (single(form, name) ?? '').trim();
  const families = EVENT_FAMILIES.filter((family) => text(boxOf(family)) !== '').map((family) => `${family}.*`);
  const exact = text('types')
    .split(/[\s,]+/)
    .filter((type) => type !== '');
  return {
    credential: text('credential'),
    website: text('website'),
    url: text('url'),
    description: text('description'),
    eventTypes: [...new Set([...families, ...exact])],
  };
}

/** When the webhook that the form shows was last changed. Undefined if nothing of a form of the console says it. */
export function wasOf(form: Parameters): Date | undefined {
  const was = new Date(single(form, 'was') ?? '');
  return Number.isNaN(was.getTime()) ? undefined : was;
}

/** Checks what the command line checks while it parses. Throws `Refused`. */
export function requireForm({ url, eventTypes, description }: Omit<WebhookForm, 'was'>, kept = false): void {
  if (eventTypes.length === 0) throw new Refused('Choose at least one kind of event.');
  const problem = typesProblem(eventTypes) ?? descriptionProblem(description);
  if (problem !== undefined) throw new Refused(problem);
  if (url === '' && !kept) throw new Refused('Type the https address of the receiver.');
}

interface Editing {
  readonly title: string;
  readonly up: string;
  readonly action: string;
  readonly button: string;
  /** True if an empty address leaves the receiver as it is. */
  readonly keeps?: boolean;
  /** Fields besides those of every webhook. */
  readonly more?: Html;
}

/** Without this, the form of a webhook whose credential has ended would choose another one, and nobody would see it. */
const kept = (id: string, listed: readonly string[]): Html | undefined =>
  id === '' || listed.includes(id) ? undefined : html`<option value="${id}" selected>${id}, as now</option>`;

/** A website, and a credential that may have a webhook of it. So the form as it is shown is not refused. */
function fittingPair(
  able: readonly CredentialRecord[],
  names: ReadonlyMap<string, string>,
): Pick<WebhookGiven, 'website' | 'credential'> {
  const free = able.filter((one) => (one.channel_ids ?? one.team_ids ?? one.subsite_ids) === null);
  for (const website of names.keys()) {
    const one = free.find(({ tenant, sites }) => sites.some((site) => `web_${tenant}_${site}` === website));
    if (one) return { website, credential: one.id };
  }
  return { website: '', credential: '' };
}

export async function webhookForm(asked: Asked, editing: Editing, given: WebhookGiven): Promise<ShownPage> {
  const { problem, now } = given;
  const [{ rows }, names] = await Promise.all([
    listCredentials(asked.desk, { state: 'active' }, CREDENTIALS),
    websiteNames(asked.desk),
  ]);
  const able = rows.filter(({ scopes }) => scopes.includes('event_read') && scopes.includes('website_read'));
  const chosen = given.credential === '' && given.website === '' ? fittingPair(able, names) : given;
  const described = problem === undefined ? undefined : html` aria-describedby="problem"`;
  const exact = given.eventTypes.filter((type) => !type.endsWith('.*'));
  const body =
    able.length === 0
      ? empty(
          'No credential can have a webhook',
          html`A webhook needs an active credential with the permissions <code>website_read</code> and
<code>event_read</code>, and without limits. The page of an <a href="/console/apps">app</a> has the command that issues one.`,
        )
      : actForm(asked, {
          action: editing.action,
          button: editing.button,
          fields: html`${editing.more}
  <p class="field"><label for="url">Receiver</label>
    <input id="url" name="url" type="url" value="${given.url}" placeholder="https://hooks.example/gateway" autocomplete="off" spellcheck="false" maxlength="2048"${editing.keeps ? undefined : html` required`}${described}>
    <span class="small">An https address on port 443 or 8443.${editing.keeps ? ' Leave the field empty to keep the present address.' : undefined}</span></p>
  <p class="field"><label for="website">Website</label>
    <select id="website" name="website" required>${kept(chosen.website, [...names.keys()])}${options(
      [...names].map(([id, name]) => [id, plain(name, 80)]),
      chosen.website,
    )}</select></p>
  <p class="field"><label for="credential">Credential</label>
    <select id="credential" name="credential" required>${kept(
      chosen.credential,
      able.map(({ id }) => id),
    )}${options(
      able.map((one) => [one.id, `${plain(one.client_host ?? one.app_name, 80)} (${one.id.slice(0, 12)}…)`]),
      chosen.credential,
    )}</select>
    <span class="small">Its permissions decide what is sent. When it ends, the webhook is silent.</span></p>
  <fieldset class="choices"><legend>Changes of</legend>${EVENT_FAMILIES.map(
    (family) => html`
    <p><input id="type-${family}" name="${boxOf(family)}" type="checkbox" value="yes"${given.eventTypes.includes(`${family}.*`) ? html` checked` : undefined}>
      <label for="type-${family}">${family}</label></p>`,
  )}
  </fieldset>
  <p class="field"><label for="types">Only these event types of other kinds (optional)</label>
    <input id="types" name="types" value="${exact.join(' ')}" placeholder="conversation.changed" autocomplete="off" spellcheck="false"></p>
  <p class="field"><label for="description">Description (optional)</label>
    <input id="description" name="description" value="${given.description}" maxlength="240" autocomplete="off"></p>`,
        });
  return {
    title: problem === undefined ? editing.title : `Problem: ${editing.title}`,
    ...(problem !== undefined && { status: 400 }),
    ...(now && { status: 409 }),
    body: html`<p class="up"><a href="${editing.up}">${editing.up === WEBHOOKS ? 'Webhooks' : 'Webhook'}</a></p>
${heading(editing.title)}
${problem === undefined ? undefined : html`<div class="problem" role="alert"><p id="problem">${problem}</p></div>`}
${now && html`${changedMeanwhile('The form below is yours. Save it to replace what is stored now.')}${facts(differing(now, given, names))}`}
${body}`,
  };
}

/** The form proposes the id. So a form that is sent twice, for example by reloading the page, makes one webhook. */
export const adding = (id: string): Editing => ({
  title: 'Add a webhook',
  up: WEBHOOKS,
  action: `${WEBHOOKS}/add`,
  button: 'Add webhook',
  more: html`<input type="hidden" name="id" value="${id}">`,
});

export const editing = (id: string, was: Date | undefined): Editing => ({
  title: 'Edit the webhook',
  up: `${WEBHOOKS}/${id}`,
  action: `${WEBHOOKS}/${id}/change`,
  button: 'Save',
  keeps: true,
  more: html`<input type="hidden" name="was" value="${was?.toISOString() ?? ''}">`,
});

/** What is stored now, where it is not what the form has. */
function differing(
  now: EndpointRecord,
  given: WebhookGiven,
  names: ReadonlyMap<string, string>,
): (readonly [string, Html | string])[] {
  const found: (readonly [string, Html | string])[] = [];
  if (given.url !== '' && given.url !== now.url) found.push(['Receiver now', plain(shownReceiver(now.url), SHOWN)]);
  if (given.website !== now.website_id) found.push(['Website now', named(names.get(now.website_id) ?? now.website_id)]);
  if (given.credential !== now.credential_id) found.push(['Credential now', html`<code>${now.credential_id}</code>`]);
  if ([...given.eventTypes].sort().join() !== [...now.event_types].sort().join())
    found.push(['Events now', now.event_types.join(', ')]);
  if (given.description !== now.description) found.push(['Description now', named(now.description, SHOWN)]);
  return found;
}

export const givenOf = (one: EndpointRecord): WebhookGiven => ({
  credential: one.credential_id,
  website: one.website_id,
  // The query of an address often contains a secret of the receiver.
  url: new URL(one.url).search === '' ? one.url : '',
  description: one.description,
  eventTypes: one.event_types,
});
