import { type Parameters, single } from '../../../auth/oauth/parameters.ts';
import { EVENT_FAMILIES } from '../../../core/events.ts';
import { Refused } from '../../../core/refused.ts';
import { listCredentials, websiteNames } from '../../../gateway/console/administration.ts';
import {
  addWebhook,
  changeWebhook,
  deliverAgain,
  descriptionProblem,
  type EndpointRecord,
  enableWebhook,
  findWebhook,
  newWebhookId,
  newWebhookSecret,
  type Replay,
  removeWebhook,
  tryWebhook,
  typesProblem,
  type WebhookForm,
} from '../../../gateway/console/webhooks.ts';
import { type Html, html } from '../../http/html.ts';
import { plain } from '../../http/pages/shell.ts';
import { heading } from '../frame.ts';
import type { Asked, ChangeDone, ConsoleAct, ConsolePage, ShownPage } from '../page.ts';
import { actForm } from '../parts.ts';
import { empty } from '../table.ts';
import { WEBHOOKS } from './webhooks.ts';

/** The credentials that the form can show. */
const CREDENTIALS = { limit: 200, offset: 0 };
/** The checkbox of a family. `website` alone is the field of the website. */
const boxOf = (family: string): string => `all_${family}`;
const FIELDS = ['credential', 'website', 'url', 'description', 'types', ...EVENT_FAMILIES.map(boxOf)];

interface WebhookGiven extends WebhookForm {
  readonly problem?: string;
}

const EMPTY: WebhookGiven = {
  credential: '',
  website: '',
  url: '',
  description: '',
  eventTypes: EVENT_FAMILIES.map((family) => `${family}.*`),
};

function formOf(form: Parameters): WebhookForm {
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

/** Checks what the command line checks while it parses. Throws `Refused`. */
function requireForm({ url, eventTypes, description }: WebhookForm, kept = false): void {
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

async function page(asked: Asked, editing: Editing, given: WebhookGiven): Promise<ShownPage> {
  const { problem } = given;
  const [{ rows }, names] = await Promise.all([
    listCredentials(asked.desk, { state: 'active' }, CREDENTIALS),
    websiteNames(asked.desk),
  ]);
  const able = rows.filter(({ scopes }) => scopes.includes('event_read') && scopes.includes('website_read'));
  const described = problem === undefined ? undefined : html` aria-describedby="problem"`;
  const exact = given.eventTypes.filter((type) => !type.endsWith('.*'));
  const body =
    able.length === 0
      ? empty(
          'No credential can have a webhook',
          html`A webhook needs an active credential with the permissions <code>website_read</code> and
<code>event_read</code>, and without limits. The operator issues one with <code>gateway credential issue</code>.`,
        )
      : actForm(asked, {
          action: editing.action,
          button: editing.button,
          fields: html`${editing.more}
  <p class="field"><label for="url">Receiver</label>
    <input id="url" name="url" type="url" value="${given.url}" placeholder="https://hooks.example/gateway" autocomplete="off" spellcheck="false" maxlength="2048"${editing.keeps ? undefined : html` required`}${described}>
    <span class="small">An https address on port 443 or 8443.${editing.keeps ? ' Leave the field empty to keep the present address.' : undefined}</span></p>
  <p class="field"><label for="website">Website</label>
    <select id="website" name="website" required>${[...names].map(
      ([id, name]) =>
        html`<option value="${id}"${given.website === id ? html` selected` : undefined}>${plain(name, 80)}</option>`,
    )}</select></p>
  <p class="field"><label for="credential">Credential</label>
    <select id="credential" name="credential" required>${able.map(
      (one) =>
        html`<option value="${one.id}"${given.credential === one.id ? html` selected` : undefined}>${plain(one.client_host ?? one.app_name, 80)} (${one.id.slice(0, 12)}…)</option>`,
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
    body: html`<p class="up"><a href="${editing.up}">${editing.up === WEBHOOKS ? 'Webhooks' : 'Webhook'}</a></p>
${heading(editing.title)}
${problem === undefined ? undefined : html`<div class="problem" role="alert"><p id="problem">${problem}</p></div>`}
${body}`,
  };
}

/** The form proposes the id. So a form that is sent twice, for example by reloading the page, makes one webhook. */
const adding = (id: string): Editing => ({
  title: 'Add a webhook',
  up: WEBHOOKS,
  action: `${WEBHOOKS}/add`,
  button: 'Add webhook',
  more: html`<input type="hidden" name="id" value="${id}">`,
});

const editing = (id: string): Editing => ({
  title: 'Edit the webhook',
  up: `${WEBHOOKS}/${id}`,
  action: `${WEBHOOKS}/${id}/change`,
  button: 'Save',
  keeps: true,
});

/** Runs a change. A refusal becomes the sentence of the form. */
async function orForm<Made>(
  make: () => Promise<Made>,
  form: (problem: string) => Promise<ShownPage>,
): Promise<Made | ShownPage> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof Refused) return form(error.sentence);
    throw error;
  }
}

const newPage: ConsolePage = {
  path: /^\/console\/webhooks\/new$/,
  operation: 'console_webhook_new',
  show: (asked) => page(asked, adding(newWebhookId()), EMPTY),
};

const editPage: ConsolePage = {
  path: /^\/console\/webhooks\/(whk_[a-f0-9]{32})\/edit$/,
  operation: 'console_webhook_edit',
  async show(asked) {
    const [id = ''] = asked.parameters;
    const one = await findWebhook(asked.desk, id);
    return one?.subscription_id === null ? page(asked, editing(id), givenOf(one)) : undefined;
  },
};

const givenOf = (one: EndpointRecord): WebhookGiven => ({
  credential: one.credential_id,
  website: one.website_id,
  // The query of an address often contains a secret of the receiver.
  url: new URL(one.url).search === '' ? one.url : '',
  description: one.description,
  eventTypes: one.event_types,
});

const secretPage = (id: string, secret: string, notes: readonly string[], title: string): ShownPage => ({
  title,
  body: html`<p class="up"><a href="${WEBHOOKS}/${id}">Webhook</a></p>
${heading(title)}
<div class="note"><p><strong>Copy the signing secret now.</strong> The gateway shows it only this once.</p>
<p class="secret"><code>${secret}</code></p></div>
${notes.map((note) => html`<p class="note">${note}</p>`)}
<p>The receiver verifies each delivery with it, as <a href="/docs/guides/event_recovery#webhooks">Webhooks</a> describes.</p>
<p class="buttons"><a class="button main" href="${WEBHOOKS}/${id}">I have copied it</a></p>`,
});

const add: ConsoleAct = {
  path: /^\/console\/webhooks\/add$/,
  operation: 'webhook_create',
  fields: ['id', ...FIELDS],
  shows: true,
  from: () => `${WEBHOOKS}/new`,
  run(asked, form) {
    const given = formOf(form);
    const typed = single(form, 'id') ?? '';
    const id = /^whk_[a-f0-9]{32}$/.test(typed) ? typed : newWebhookId();
    return orForm<ChangeDone | ShownPage>(
      async () => {
        requireForm(given);
        const { secret, notes } = await addWebhook(asked.desk, id, given);
        const shown = secretPage(id, secret, notes, 'The webhook is added');
        return { to: `${WEBHOOKS}/${id}`, notice: 'webhook_added', target: id, page: shown };
      },
      (problem) => page(asked, adding(newWebhookId()), { ...given, problem }),
    );
  },
};

/** A change of one webhook. Its form is on the page of the webhook. */
function change(
  name: string,
  { to, fields = [], ...more }: Pick<ConsoleAct, 'operation' | 'shows'> & { fields?: string[]; to?: string },
  make: (asked: Asked, id: string, form: Parameters) => Promise<Omit<ChangeDone, 'to' | 'target'> | undefined>,
): ConsoleAct {
  const from = ([id = '']: readonly string[]): string => `${WEBHOOKS}/${id}`;
  return {
    path: new RegExp(`^/console/webhooks/(whk_[a-f0-9]{32})/${name}$`),
    fields,
    ...more,
    from,
    async run(asked, form) {
      const [id = ''] = asked.parameters;
      return orForm<ChangeDone | ShownPage | undefined>(
        async () => {
          const made = await make(asked, id, form);
          return made && { to: to ?? from([id]), target: id, ...made };
        },
        async (problem) => refusedPage(id, problem),
      );
    },
  };
}

const refusedPage = (id: string, problem: string): ShownPage => ({
  status: 400,
  title: 'Nothing was changed',
  body: html`<p class="up"><a href="${WEBHOOKS}/${id}">Webhook</a></p>
${heading('Nothing was changed')}
<div class="problem" role="alert"><p>${problem}</p></div>
<p><a href="${WEBHOOKS}/${id}">Back to the webhook</a></p>`,
});

const edit: ConsoleAct = {
  path: /^\/console\/webhooks\/(whk_[a-f0-9]{32})\/change$/,
  operation: 'webhook_update',
  fields: FIELDS,
  from: ([id = '']) => `${WEBHOOKS}/${id}/edit`,
  run(asked, form) {
    const [id = ''] = asked.parameters;
    const given = formOf(form);
    return orForm<ChangeDone | ShownPage | undefined>(
      async () => {
        requireForm(given, true);
        const changed = await changeWebhook(asked.desk, id, given);
        return changed && { to: `${WEBHOOKS}/${id}`, notice: 'webhook_changed', target: id };
      },
      (problem) => page(asked, editing(id), { ...given, problem }),
    );
  },
};

const OVERLAPS: ReadonlyMap<string, number> = new Map([
  ['24h', 86_400],
  ['1h', 3_600],
  ['0s', 0],
]);
const SPANS: ReadonlyMap<string, number> = new Map([
  ['1h', 3_600_000],
  ['24h', 86_400_000],
  ['7d', 604_800_000],
]);

function replayOf(form: Parameters): Replay {
  const event = single(form, 'event');
  if (event !== undefined) return { event };
  return { since: new Date(Date.now() - (SPANS.get(single(form, 'since') ?? '') ?? 3_600_000)), until: null };
}

export const webhookChangePages: readonly ConsolePage[] = [newPage, editPage];
export const webhookActs: readonly ConsoleAct[] = [
  add,
  edit,
  change('rotate', { operation: 'webhook_rotate', fields: ['overlap'], shows: true }, async ({ desk }, id, form) => {
    const made = await newWebhookSecret(desk, id, OVERLAPS.get(single(form, 'overlap') ?? '') ?? 86_400);
    return made && { notice: 'webhook_rotated', page: secretPage(id, made.secret, [], 'The secret is replaced') };
  }),
  change('test', { operation: 'webhook_test' }, async ({ desk }, id) => {
    const tested = await tryWebhook(desk, id);
    return tested && { notice: tested.accepted ? 'webhook_accepted' : 'webhook_not_accepted' };
  }),
  change('replay', { operation: 'webhook_replay', fields: ['event', 'since'] }, async ({ desk }, id, form) => {
    const again = await deliverAgain(desk, id, replayOf(form));
    return again && { notice: again.queued > 0 ? 'webhook_replayed' : 'webhook_nothing' };
  }),
  ...(['enable', 'disable'] as const).map((name) =>
    change(name, { operation: `webhook_${name}` }, async ({ desk }, id) => {
      const changed = await enableWebhook(desk, id, name === 'enable');
      return changed && { notice: `webhook_${name}d` };
    }),
  ),
  change('delete', { operation: 'webhook_delete', to: WEBHOOKS }, async ({ desk }, id) =>
    (await removeWebhook(desk, id)) ? { notice: 'webhook_deleted' } : undefined,
  ),
];
