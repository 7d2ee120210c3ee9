import { pick } from '../../../core/json.ts';
import { websiteNames } from '../../../gateway/console/administration.ts';
import {
  DELIVERY_STATUSES,
  type DeliveryRecord,
  deliveryDocument,
  type EndpointRecord,
  findWebhook,
  listDeliveries,
  listWebhooks,
  shownReceiver,
} from '../../../gateway/console/webhooks.ts';
import { type Html, html } from '../../http/html.ts';
import { named, plain } from '../../http/pages/shell.ts';
import { COLUMNS } from '../columns.ts';
import { heading } from '../frame.ts';
import type { Asked, ConsolePage } from '../page.ts';
import { actForm, dangerous, distance, facts, state, time } from '../parts.ts';
import { empty, exported, list, nameColumn, numberColumn, table, titled } from '../table.ts';

export const WEBHOOKS = '/console/webhooks';
/** The longest receiver and description that a page shows. */
export const SHOWN = 240;

const STATES = ['enabled', 'failing', 'disabled'] as const;

const BECAUSE: Readonly<Record<NonNullable<EndpointRecord['disabled_because']>, string>> = {
  owner: 'by an administrator',
  gone: 'because the receiver answered 410',
  failing: 'because all attempts failed for three days',
  ended: 'because the rights of its client ended',
};

const receiver = (url: string): Html => html`<bdi>${plain(shownReceiver(url), SHOWN)}</bdi>`;

function stateOf({ enabled, permitted, failing_since, disabled_because }: EndpointRecord): Html {
  if (!enabled)
    return html`${state('disabled', 'off')}${disabled_because ? html` <span class="small">${BECAUSE[disabled_because]}</span>` : undefined}`;
  if (!permitted) return state('not permitted', 'warn');
  return failing_since
    ? html`${state('failing', 'bad')} <span class="small">since ${time(failing_since)}</span>`
    : state('enabled', 'good');
}

const webhookList: ConsolePage = {
  path: /^\/console\/webhooks$/,
  operation: 'console_webhooks',
  async show(asked) {
    const { desk, query } = asked;
    const search = {
      text: query.text('q'),
      website: query.text('website'),
      state: query.one('state', STATES),
    };
    const [{ rows, total }, names] = await Promise.all([listWebhooks(desk, search, query.slice), websiteNames(desk)]);
    const file = exported(asked, 'webhooks', COLUMNS.webhooks, rows.map(webhookDocument));
    if (file) return file;
    const add = html`<a class="button plain" href="${WEBHOOKS}/new">Add a webhook</a>`;
    return {
      title: 'Webhooks',
      body: html`${heading('Webhooks', 'Addresses to which the gateway sends a signed notice of each change. A notice has no content.')}
<p class="do">${add}</p>
${list({
  path: WEBHOOKS,
  query,
  noun: ['webhook', 'webhooks'],
  total,
  filters: [
    { name: 'q', label: 'Receiver or description' },
    { name: 'website', label: 'Website', choices: [...names] },
    { name: 'state', label: 'State', choices: titled(STATES) },
  ],
  table: table(
    'Webhooks',
    [nameColumn('Receiver'), 'Website', 'State', numberColumn('Waiting')],
    rows.map((one) => [
      html`<a href="${WEBHOOKS}/${one.id}">${receiver(one.url)}</a>${
        one.description === '' ? undefined : html`<p class="remark">${named(one.description, SHOWN)}</p>`
      }`,
      named(names.get(one.website_id) ?? one.website_id),
      stateOf(one),
      one.pending,
    ]),
  ),
  empty: empty(
    'No webhook yet',
    html`Add one, and your server hears of a change within seconds instead of asking again and again. You need an https
address, and a credential that may read the website and its events. <a href="${WEBHOOKS}/new">Add a webhook</a>`,
  ),
})}`,
    };
  },
};

const webhookDocument = (one: EndpointRecord): Record<string, unknown> => ({
  endpoint_id: one.id,
  url: shownReceiver(one.url),
  ...pick(one, 'description', 'website_id', 'credential_id', 'event_types', 'enabled', 'disabled_because'),
  ...pick(one, 'permitted', 'failing_since', 'pending', 'created_at'),
});

const webhookPage: ConsolePage = {
  path: /^\/console\/webhooks\/(whk_[a-f0-9]{32})$/,
  operation: 'console_webhook',
  async show(asked) {
    const {
      desk,
      query,
      parameters: [id = ''],
    } = asked;
    const search = { status: query.one('status', DELIVERY_STATUSES), event: query.text('event') };
    const [one, names, { rows, total }] = await Promise.all([
      findWebhook(desk, id),
      websiteNames(desk),
      listDeliveries(desk, id, search, query.slice),
    ]);
    if (!one) return undefined;
    const file = exported(asked, `deliveries-${id}`, COLUMNS.deliveries, rows.map(deliveryDocument));
    if (file) return file;
    const own = one.subscription_id === null;
    return {
      title: `Webhook ${shownReceiver(one.url)}`,
      body: html`<p class="up"><a href="${WEBHOOKS}">Webhooks</a></p>
${heading(receiver(one.url), one.description === '' ? undefined : named(one.description, SHOWN))}
${facts([
  ['State', stateOf(one)],
  one.permitted
    ? undefined
    : [
        'Lacks',
        'Its credential may no longer read this website and its events. Deliveries wait until it may, or until you change the credential.',
      ],
  ['Website', named(names.get(one.website_id) ?? one.website_id)],
  ['Credential', html`<code>${one.credential_id}</code>`],
  ['Events', html`${one.event_types.map((type, i) => [i === 0 ? '' : ', ', html`<code>${type}</code>`])}`],
  ['Waiting', one.pending === 0 ? 'Nothing' : `${one.pending} ${one.pending === 1 ? 'delivery' : 'deliveries'}`],
  one.gap_since
    ? ['Gap', html`Since ${time(one.gap_since)} notices were lost. The receiver must pull once.`]
    : undefined,
  one.old_secret_until ? ['Old secret', html`Signs until ${time(one.old_secret_until)}`] : undefined,
  own
    ? undefined
    : [
        'Belongs to',
        html`subscription <code>${one.subscription_id ?? ''}</code> of an MCP client, which alone can change it`,
      ],
  ['Added', time(one.created_at)],
  ['Id', html`<code>${one.id}</code>`],
])}
${own ? changes(asked, one) : undefined}
<h2 id="deliveries">Deliveries</h2>
${list({
  path: `${WEBHOOKS}/${id}`,
  query,
  noun: ['delivery', 'deliveries'],
  total,
  filters: [
    { name: 'status', label: 'Status', choices: DELIVERY_STATUSES.map((status) => [status, status]) },
    { name: 'event', label: 'Event id' },
  ],
  table: table(
    'Deliveries',
    [nameColumn('Event'), 'Status', 'Answer', numberColumn('Attempts'), 'Made', numberColumn('Again')],
    rows.map((row) => deliveryRow(asked, one, row)),
  ),
  empty: empty(
    'No delivery yet',
    html`The next change on the website is delivered within seconds. A test shows at once whether the receiver accepts.`,
  ),
})}
<p class="small">The log is kept for seven days.</p>
${own ? replayForm(asked, one) : undefined}
<div class="danger-zone">${dangerous(asked, {
        summary: own ? 'Delete this webhook' : 'End this subscription',
        says: html`Its queue and its log are lost.${own ? undefined : ' The client hears of it at its next request.'} This cannot be undone.`,
        action: `${WEBHOOKS}/${id}/delete`,
        button: own ? 'Delete webhook' : 'End subscription',
      })}</div>`,
    };
  },
};

const DELIVERED = { pending: 'warn', delivered: 'good', failed: 'bad', dropped: 'off' } as const;

function deliveryRow(asked: Asked, { id, subscription_id }: EndpointRecord, row: DeliveryRecord) {
  const next = row.next_attempt_at;
  const again = subscription_id === null && !row.test && row.status !== 'pending';
  return [
    html`${row.event_type}${row.test ? html` ${state('test', 'off')}` : undefined}<br><code class="small">${row.event_id.slice(0, 16)}…</code>`,
    html`${state(row.status, DELIVERED[row.status])}${next ? html` <span class="small">next ${distance(next)}</span>` : undefined}`,
    row.response_status ?? (row.error === null ? undefined : row.error.replaceAll('_', ' ')),
    row.attempts,
    time(row.created_at),
    again
      ? actForm(asked, {
          action: `${WEBHOOKS}/${id}/replay`,
          button: 'Send again',
          label: `Send ${row.event_type} ${row.event_id.slice(0, 16)} again`,
          tone: 'plain',
          fields: html`<input type="hidden" name="event" value="${row.event_id}">`,
        })
      : undefined,
  ];
}

const changes = (asked: Asked, { id, enabled }: EndpointRecord): Html => html`
<div class="acts">
<p class="buttons"><a class="button" href="${WEBHOOKS}/${id}/edit">Edit</a></p>
${enabled ? actForm(asked, { action: `${WEBHOOKS}/${id}/test`, button: 'Send a test', tone: 'plain' }) : undefined}
${actForm(asked, { action: `${WEBHOOKS}/${id}/${enabled ? 'disable' : 'enable'}`, button: enabled ? 'Disable' : 'Enable', tone: 'plain' })}
</div>
<details class="more"><summary>Replace the signing secret</summary>
<p>The new secret is shown once. Until the old one ends, each delivery has both signatures, so the receiver loses nothing.</p>
${actForm(asked, {
  action: `${WEBHOOKS}/${id}/rotate`,
  button: 'Replace secret',
  fields: html`<p class="field"><label for="overlap">The old secret also signs</label>
    <select id="overlap" name="overlap"><option value="24h">for 24 hours</option><option value="1h">for one hour</option><option value="0s">not any more (it has leaked)</option></select></p>`,
})}
</details>`;

const replayForm = (asked: Asked, { id, enabled }: EndpointRecord): Html | undefined =>
  enabled
    ? html`<details class="more"><summary>Send a span of time again</summary>
<p>Sends the notices of this span again, or for the first time, with the same ids: the receiver knows those that it had.</p>
${actForm(asked, {
  action: `${WEBHOOKS}/${id}/replay`,
  button: 'Send again',
  fields: html`<p class="field"><label for="since">Notices of</label>
    <select id="since" name="since"><option value="1h">the last hour</option><option value="24h">the last 24 hours</option><option value="7d">the last seven days</option></select></p>`,
})}
</details>`
    : undefined;

export const webhookPages: readonly ConsolePage[] = [webhookList, webhookPage];
