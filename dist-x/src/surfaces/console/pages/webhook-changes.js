import { single } from '../../../auth/oauth/parameters.js';
import { Refused } from '../../../core/refused.js';
import { addWebhook, changeWebhook, deliverAgain, enableWebhook, findWebhook, newWebhookId, newWebhookSecret, removeWebhook, tryWebhook, } from '../../../gateway/console/webhooks.js';
import { html } from '../../http/html.js';
import { heading } from '../frame.js';
import { adding, EMPTY, editing, FIELDS, formOf, givenOf, requireForm, wasOf, webhookForm } from './webhook-form.js';
import { WEBHOOKS } from './webhooks.js';
/** Runs a change. A refusal becomes the sentence of the form. */
async function orForm(make, form) {
    try {
        return await make();
    }
    catch (error) {
        if (error instanceof Refused)
            return form(error.sentence);
        throw error;
    }
}
const newPage = {
    path: /^\/console\/webhooks\/new$/,
    operation: 'console_webhook_new',
    show: (asked) => webhookForm(asked, adding(newWebhookId()), EMPTY),
};
const editPage = {
    path: /^\/console\/webhooks\/(whk_[a-f0-9]{32})\/edit$/,
    operation: 'console_webhook_edit',
    async show(asked) {
        const [id = ''] = asked.parameters;
        const one = await findWebhook(asked.desk, id);
        return one?.subscription_id === null ? webhookForm(asked, editing(id, one.updated_at), givenOf(one)) : undefined;
    },
};
const secretPage = (id, secret, notes, title) => ({
    title,
    body: html `<p class="up"><a href="${WEBHOOKS}/${id}">Webhook</a></p>
${heading(title)}
<div class="note"><p><strong>Copy the signing secret now.</strong> The gateway shows it only this once.</p>
<p class="secret"><code>${secret}</code></p></div>
${notes.map((note) => html `<p class="note">${note}</p>`)}
<p>The receiver verifies each delivery with it, as <a href="/docs/guides/event_recovery#webhooks">Webhooks</a> describes.</p>
<p class="buttons"><a class="button main" href="${WEBHOOKS}/${id}">I have copied it</a></p>`,
});
const add = {
    path: /^\/console\/webhooks\/add$/,
    operation: 'webhook_create',
    fields: ['id', ...FIELDS],
    shows: true,
    from: () => `${WEBHOOKS}/new`,
    run(asked, form) {
        const given = formOf(form);
        const typed = single(form, 'id') ?? '';
        const id = /^whk_[a-f0-9]{32}$/.test(typed) ? typed : newWebhookId();
        return orForm(async () => {
            requireForm(given);
            const { secret, notes } = await addWebhook(asked.desk, id, given);
            const shown = secretPage(id, secret, notes, 'The webhook is added');
            return { to: `${WEBHOOKS}/${id}`, notice: 'webhook_added', target: id, page: shown };
        }, (problem) => webhookForm(asked, adding(newWebhookId()), { ...given, problem }));
    },
};
/** A change of one webhook. Its form is on the page of the webhook. */
function change(name, { to, fields = [], ...more }, make) {
    const from = ([id = '']) => `${WEBHOOKS}/${id}`;
    return {
        path: new RegExp(`^/console/webhooks/(whk_[a-f0-9]{32})/${name}$`),
        fields,
        ...more,
        from,
        async run(asked, form) {
            const [id = ''] = asked.parameters;
            return orForm(async () => {
                const made = await make(asked, id, form);
                return made && { to: to ?? from([id]), target: id, ...made };
            }, async (problem) => refusedPage(id, problem));
        },
    };
}
const refusedPage = (id, problem) => ({
    status: 400,
    title: 'Nothing was changed',
    body: html `<p class="up"><a href="${WEBHOOKS}/${id}">Webhook</a></p>
${heading('Nothing was changed')}
<div class="problem" role="alert"><p>${problem}</p></div>
<p><a href="${WEBHOOKS}/${id}">Back to the webhook</a></p>`,
});
const edit = {
    path: /^\/console\/webhooks\/(whk_[a-f0-9]{32})\/change$/,
    operation: 'webhook_update',
    fields: ['was', ...FIELDS],
    from: ([id = '']) => `${WEBHOOKS}/${id}/edit`,
    run(asked, form) {
        const [id = ''] = asked.parameters;
        const given = formOf(form);
        const was = wasOf(form);
        return orForm(async () => {
            requireForm(given, true);
            const changed = await changeWebhook(asked.desk, id, { ...given, was });
            if (changed && 'now' in changed)
                return webhookForm(asked, editing(id, changed.now.updated_at), { ...given, ...changed });
            return changed && { to: `${WEBHOOKS}/${id}`, notice: 'webhook_changed', target: id };
        }, (problem) => webhookForm(asked, editing(id, was), { ...given, problem }));
    },
};
const OVERLAPS = new Map([
    ['24h', 86_400],
    ['1h', 3_600],
    ['0s', 0],
]);
const SPANS = new Map([
    ['1h', 3_600_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
]);
function replayOf(form) {
    const event = single(form, 'event');
    if (event !== undefined)
        return { event };
    return { since: new Date(Date.now() - (SPANS.get(single(form, 'since') ?? '') ?? 3_600_000)), until: null };
}
export const webhookChangePages = [newPage, editPage];
export const webhookActs = [
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
    ...['enable', 'disable'].map((name) => change(name, { operation: `webhook_${name}` }, async ({ desk }, id) => {
        const changed = await enableWebhook(desk, id, name === 'enable');
        return changed && { notice: `webhook_${name}d` };
    })),
    change('delete', { operation: 'webhook_delete', to: WEBHOOKS }, async ({ desk }, id) => (await removeWebhook(desk, id)) ? { notice: 'webhook_deleted' } : undefined),
];
//# sourceMappingURL=webhook-changes.js.map