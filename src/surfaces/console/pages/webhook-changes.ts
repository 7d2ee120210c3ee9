import { type Parameters, single } from '../../../auth/oauth/parameters.ts';
import { Refused } from '../../../core/refused.ts';
import {
  addWebhook,
  changeWebhook,
  deliverAgain,
  enableWebhook,
  findWebhook,
  newWebhookId,
  newWebhookSecret,
  type Replay,
  removeWebhook,
  tryWebhook,
} from '../../../gateway/console/webhooks.ts';
import { html } from '../../http/html.ts';
import { heading } from '../frame.ts';
import type { Asked, ChangeDone, ConsoleAct, ConsolePage, ShownPage } from '../page.ts';
import { adding, EMPTY, editing, FIELDS, formOf, givenOf, requireForm, wasOf, webhookForm } from './webhook-form.ts';
import { WEBHOOKS } from './webhooks.ts';

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
  show: (asked) => webhookForm(asked, adding(newWebhookId()), EMPTY),
};

const editPage: ConsolePage = {
  path: /^\/console\/webhooks\/(whk_[a-f0-9]{32})\/edit$/,
  operation: 'console_webhook_edit',
  async show(asked) {
    const [id = ''] = asked.parameters;
    const one = await findWebhook(asked.desk, id);
    return one?.subscription_id === null ? webhookForm(asked, editing(id, one.updated_at), givenOf(one)) : undefined;
  },
};

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
      (problem) => webhookForm(asked, adding(newWebhookId()), { ...given, problem }),
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
  fields: ['was', ...FIELDS],
  from: ([id = '']) => `${WEBHOOKS}/${id}/edit`,
  run(asked, form) {
    const [id = ''] = asked.parameters;
    const given = formOf(form);
    const was = wasOf(form);
    return orForm<ChangeDone | ShownPage | undefined>(
      async () => {
        requireForm(given, true);
        const changed = await changeWebhook(asked.desk, id, { ...given, was });
        if (changed && 'now' in changed)
          return webhookForm(asked, editing(id, changed.now.updated_at), { ...given, ...changed });
        return changed && { to: `${WEBHOOKS}/${id}`, notice: 'webhook_changed', target: id };
      },
      (problem) => webhookForm(asked, editing(id, was), { ...given, problem }),
    );
  },
};

const OVERLAPS: ReadonlyMap<string, number> = new Map([
  ['24h', 86_400],
  ['1h', 3_600],
  ['0s', 0],
]);
const SPANS: ReadonlyMap<string, number> = new Map([
  ['1h', 3_600],
  ['24h', 86_400],
  ['7d', 604_800],
]);

function replayOf(form: Parameters): Replay {
  const event = single(form, 'event');
  if (event !== undefined) return { event };
  return { since: SPANS.get(single(form, 'since') ?? '') ?? 3_600, until: null };
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
