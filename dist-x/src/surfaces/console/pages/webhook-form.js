import { single } from '../../../auth/oauth/parameters.js';
import { EVENT_FAMILIES } from '../../../core/events.js';
import { Refused } from '../../../core/refused.js';
import { listCredentials, websiteNames } from '../../../gateway/console/administration.js';
import { descriptionProblem, shownReceiver, typesProblem, } from '../../../gateway/console/webhooks.js';
import { html } from '../../http/html.js';
import { named, plain } from '../../http/pages/shell.js';
import { heading } from '../frame.js';
import { actForm, changedMeanwhile, facts } from '../parts.js';
import { empty } from '../table.js';
import { SHOWN, WEBHOOKS } from './webhooks.js';
/** The credentials that the form can show. */
const CREDENTIALS = { limit: 200, offset: 0 };
/** The checkbox of a family. `website` alone is the field of the website. */
const boxOf = (family) => `all_${family}`;
export const FIELDS = ['credential', 'website', 'url', 'description', 'types', ...EVENT_FAMILIES.map(boxOf)];
export const EMPTY = {
    credential: '',
    website: '',
    url: '',
    description: '',
    eventTypes: EVENT_FAMILIES.map((family) => `${family}.*`),
};
export function formOf(form) {
    const text = (name) => (single(form, name) ?? '').trim();
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
export function wasOf(form) {
    const was = new Date(single(form, 'was') ?? '');
    return Number.isNaN(was.getTime()) ? undefined : was;
}
/** Checks what the command line checks while it parses. Throws `Refused`. */
export function requireForm({ url, eventTypes, description }, kept = false) {
    if (eventTypes.length === 0)
        throw new Refused('Choose at least one kind of event.');
    const problem = typesProblem(eventTypes) ?? descriptionProblem(description);
    if (problem !== undefined)
        throw new Refused(problem);
    if (url === '' && !kept)
        throw new Refused('Type the https address of the receiver.');
}
export async function webhookForm(asked, editing, given) {
    const { problem, now } = given;
    const [{ rows }, names] = await Promise.all([
        listCredentials(asked.desk, { state: 'active' }, CREDENTIALS),
        websiteNames(asked.desk),
    ]);
    const able = rows.filter(({ scopes }) => scopes.includes('event_read') && scopes.includes('website_read'));
    const described = problem === undefined ? undefined : html ` aria-describedby="problem"`;
    const exact = given.eventTypes.filter((type) => !type.endsWith('.*'));
    const body = able.length === 0
        ? empty('No credential can have a webhook', html `A webhook needs an active credential with the permissions <code>website_read</code> and
<code>event_read</code>, and without limits. The page of an <a href="/console/apps">app</a> has the command that issues one.`)
        : actForm(asked, {
            action: editing.action,
            button: editing.button,
            fields: html `${editing.more}
  <p class="field"><label for="url">Receiver</label>
    <input id="url" name="url" type="url" value="${given.url}" placeholder="https://hooks.example/gateway" autocomplete="off" spellcheck="false" maxlength="2048"${editing.keeps ? undefined : html ` required`}${described}>
    <span class="small">An https address on port 443 or 8443.${editing.keeps ? ' Leave the field empty to keep the present address.' : undefined}</span></p>
  <p class="field"><label for="website">Website</label>
    <select id="website" name="website" required>${[...names].map(([id, name]) => html `<option value="${id}"${given.website === id ? html ` selected` : undefined}>${plain(name, 80)}</option>`)}</select></p>
  <p class="field"><label for="credential">Credential</label>
    <select id="credential" name="credential" required>${able.map((one) => html `<option value="${one.id}"${given.credential === one.id ? html ` selected` : undefined}>${plain(one.client_host ?? one.app_name, 80)} (${one.id.slice(0, 12)}…)</option>`)}</select>
    <span class="small">Its permissions decide what is sent. When it ends, the webhook is silent.</span></p>
  <fieldset class="choices"><legend>Changes of</legend>${EVENT_FAMILIES.map((family) => html `
    <p><input id="type-${family}" name="${boxOf(family)}" type="checkbox" value="yes"${given.eventTypes.includes(`${family}.*`) ? html ` checked` : undefined}>
      <label for="type-${family}">${family}</label></p>`)}
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
        body: html `<p class="up"><a href="${editing.up}">${editing.up === WEBHOOKS ? 'Webhooks' : 'Webhook'}</a></p>
${heading(editing.title)}
${problem === undefined ? undefined : html `<div class="problem" role="alert"><p id="problem">${problem}</p></div>`}
${now && html `${changedMeanwhile('The form below is yours. Save it to replace what is stored now.')}${facts(differing(now, given, names))}`}
${body}`,
    };
}
/** The form proposes the id. So a form that is sent twice, for example by reloading the page, makes one webhook. */
export const adding = (id) => ({
    title: 'Add a webhook',
    up: WEBHOOKS,
    action: `${WEBHOOKS}/add`,
    button: 'Add webhook',
    more: html `<input type="hidden" name="id" value="${id}">`,
});
export const editing = (id, was) => ({
    title: 'Edit the webhook',
    up: `${WEBHOOKS}/${id}`,
    action: `${WEBHOOKS}/${id}/change`,
    button: 'Save',
    keeps: true,
    more: html `<input type="hidden" name="was" value="${was?.toISOString() ?? ''}">`,
});
/** What is stored now, where it is not what the form has. */
function differing(now, given, names) {
    const found = [];
    if (given.url !== '' && given.url !== now.url)
        found.push(['Receiver now', plain(shownReceiver(now.url), SHOWN)]);
    if (given.website !== now.website_id)
        found.push(['Website now', named(names.get(now.website_id) ?? now.website_id)]);
    if (given.credential !== now.credential_id)
        found.push(['Credential now', html `<code>${now.credential_id}</code>`]);
    if ([...given.eventTypes].sort().join() !== [...now.event_types].sort().join())
        found.push(['Events now', now.event_types.join(', ')]);
    if (given.description !== now.description)
        found.push(['Description now', named(now.description, SHOWN)]);
    return found;
}
export const givenOf = (one) => ({
    credential: one.credential_id,
    website: one.website_id,
    // The query of an address often contains a secret of the receiver.
    url: new URL(one.url).search === '' ? one.url : '',
    description: one.description,
    eventTypes: one.event_types,
});
//# sourceMappingURL=webhook-form.js.map