import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { APPROVAL_REQUESTED, EVENT_FAMILIES, EVENT_TYPE } from '../../core/events.ts';
import type { WebsiteKey } from '../../core/ids.ts';
import { Refused } from '../../core/refused.ts';
import { receiverOf } from '../../outbound/receivers.ts';
import { AddressRefused, checkedAddresses } from '../../outbound/resolve.ts';
import type { SenderOptions } from '../../outbound/sender.ts';
import { newWebhookSecret, type SealKeys } from '../../outbound/signature.ts';
import type { Administrator } from '../../store/administration/administrator.ts';
import type { CredentialRecord } from '../../store/administration/credentials.ts';
import {
  claimTest,
  type DeliveryRecord,
  type EndpointChanges,
  type EndpointRecord,
  insertEndpoint,
  pageOfDeliveries,
  pageOfEndpoints,
  REPLAYED_MAX,
  type Replay,
  readEndpoints,
  replayDeliveries,
  rotateEndpoint,
  updateEndpoint,
} from '../../store/administration/endpoints.ts';
import { openLedgerKey } from '../../store/calls/ledger.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { settleDeliveries } from '../../store/events/deliveries.ts';
import { sendClaim, settlementOf } from './dispatcher.ts';

/** What the command line and the console need to manage webhooks. Both call the functions of this file. */
export interface WebhookDoor {
  readonly db: Database;
  /** Opens the operator's keys. A change that seals nothing does not need the keys. */
  readonly keys: () => Promise<SealKeys>;
  readonly sender: SenderOptions;
  /** The owner or admin in whose organization the console makes a change. Undefined for the command line. */
  readonly by?: Administrator;
}

const EVENT_TYPES_MAX = 35;
const DESCRIPTION_MAX = 240;
const ALL_TYPES = EVENT_FAMILIES.map((family) => `${family}.*`);

/** Says why a webhook cannot have these event types. */
export function typesProblem(types: readonly string[]): string | undefined {
  if (!types.every((type) => EVENT_TYPE.test(type) || type === APPROVAL_REQUESTED))
    return `Expected an exact event type such as conversation.changed, a family such as conversation.*, or ${APPROVAL_REQUESTED}.`;
  return types.length > EVENT_TYPES_MAX ? `There are at most ${EVENT_TYPES_MAX} event types.` : undefined;
}

/** Says why a webhook cannot have this description. */
export const descriptionProblem = (text: string): string | undefined =>
  text.length > DESCRIPTION_MAX || /[\p{Cc}\p{Surrogate}]/u.test(text)
    ? `A description has at most ${DESCRIPTION_MAX} printable characters.`
    : undefined;

/** Returns the URL without its query, because the query often contains a secret of the receiver (WH-11). */
export function shownReceiver(address: string): string {
  const url = new URL(address);
  return url.search === '' ? url.href : `${url.origin}${url.pathname}?…`;
}

/** A delivery as a document of the command line and of the console. */
export const deliveryDocument = (one: DeliveryRecord): Record<string, unknown> => ({
  delivery_id: one.id,
  event_id: one.event_id,
  event_type: one.event_type,
  test: one.test,
  status: one.status,
  attempts: one.attempts,
  attempted_at: one.attempted_at,
  next_attempt_at: one.next_attempt_at,
  response_status: one.response_status,
  error: one.error,
  created_at: one.created_at,
  ended_at: one.ended_at,
});

/** A webhook as the store has it, with what its owner should know. */
export interface Managed {
  readonly record: EndpointRecord;
  readonly notes: readonly string[];
}

/** A webhook with its signing secret in clear text, which is shown only once. */
export interface WithSecret extends Managed {
  readonly secret: string;
}

export interface NewWebhook {
  readonly id: string;
  readonly credential: Pick<CredentialRecord, 'id' | 'state'>;
  readonly site: WebsiteKey;
  readonly url: string;
  readonly eventTypes?: readonly string[] | undefined;
  readonly description?: string | undefined;
}

export async function createWebhook(door: WebhookDoor, made: NewWebhook): Promise<WithSecret> {
  const { credential, site } = made;
  requireActive(credential);
  const { url, notes } = await receiver(door, made.url);
  const secret = newWebhookSecret();
  const record = await insertEndpoint(
    door.db,
    {
      id: made.id,
      credential: credential.id,
      tenant: site.tenant,
      site: site.site,
      url,
      eventTypes: made.eventTypes ?? ALL_TYPES,
      description: made.description ?? '',
      secret: (await door.keys()).seal('webhook secret', secret),
    },
    door.by,
  );
  if (!record) {
    const { db, by } = door;
    // An owner learns nothing about the webhooks of another organization.
    const id = { id: made.id };
    const existing = by
      ? (await pageOfEndpoints(db, by, id, { limit: 1, offset: 0 })).rows
      : await readEndpoints(db, id);
    throw new Refused(
      existing.length > 0
        ? `Webhook ${made.id} exists already. Its secret is not shown again.`
        : notPermitted(credential.id, site.id),
    );
  }
  return { record, secret, notes };
}

export interface WebhookChanges extends Omit<EndpointChanges, 'credential' | 'site'> {
  readonly credential?: NewWebhook['credential'] | undefined;
  readonly site?: WebsiteKey | undefined;
}

export async function updateWebhook(
  door: WebhookDoor,
  { id }: EndpointRecord,
  changes: WebhookChanges,
): Promise<Managed> {
  const { credential, url } = changes;
  if (credential) requireActive(credential);
  const checked = url === undefined ? undefined : await receiver(door, url);
  const record = await updateEndpoint(
    door.db,
    id,
    { ...changes, credential: credential?.id, url: checked?.url },
    door.by,
  );
  if (!record) throw unknownWebhook(id);
  const lacks = record.permitted ? [] : [notPermitted(record.credential_id, record.website_id)];
  return { record, notes: [...(checked?.notes ?? []), ...lacks] };
}

/** Replaces the signing secret. The old secret also signs for `overlap` more seconds. */
export async function rotateWebhook(
  { db, keys, by }: WebhookDoor,
  { id }: EndpointRecord,
  overlap: number,
): Promise<WithSecret> {
  const secret = newWebhookSecret();
  const record = await rotateEndpoint(db, id, (await keys()).seal('webhook secret', secret), overlap, by);
  if (record) return { record, secret, notes: [] };
  const [current] = await readEndpoints(db, { id });
  if (!current) throw unknownWebhook(id);
  throw new Refused(
    `The previous secret of ${id} still signs until ${current.old_secret_until?.toISOString() ?? 'now'}. Rotate after that time, or end both older secrets at once`,
    { command: 'with --overlap 0s.' },
  );
}

/** The answer of a receiver to a test. */
export interface Tested {
  readonly delivery: string;
  readonly event: string;
  readonly accepted: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

/** Sends one test delivery from this process and records it in the log of deliveries. A failed test is not repeated. */
export async function testWebhook({ db, keys, sender, by }: WebhookDoor, { id }: EndpointRecord): Promise<Tested> {
  const opened = await keys();
  const claim = await claimTest(db, id, `evt_${randomBytes(32).toString('hex')}`, by);
  if (!claim) throw new Refused(`Webhook ${id} is disabled, or its credential lost the grant for the website.`);
  const outcome = await sendClaim({ keys: opened, sender }, claim);
  const settled = settlementOf(claim, outcome, []);
  while ((await settleDeliveries(db, [settled])).later.length > 0) await pause(50); // repeat while another statement locks the endpoint
  const { delivered, status, error } = settled;
  return { delivery: claim.id, event: claim.receipt.event_id, accepted: delivered, status, error };
}

export interface ReplayedWebhook {
  readonly found: number;
  readonly queued: number;
  /** True if there can be more receipts than one replay takes. */
  readonly truncated: boolean;
}

/**
 * Delivers receipts of the last seven days again. The command line also finds an event that the log of deliveries does
 * not have. That search reads the whole journal of the website, so people of the console cannot start it.
 */
export async function replayWebhook(
  { db, by }: Pick<WebhookDoor, 'db' | 'by'>,
  { id }: Pick<EndpointRecord, 'id'>,
  which: Replay,
): Promise<ReplayedWebhook> {
  if (by && 'event' in which) {
    const { event } = which;
    const { rows } = await pageOfDeliveries(db, by, id, { event }, { limit: 1, offset: 0 });
    if (rows[0]?.test !== false)
      throw new Refused(`Webhook ${id} has no delivery of ${JSON.stringify(event)} to repeat.`);
  }
  const { refused, found, queued } = await replayDeliveries(db, id, await openLedgerKey(db)(), which, by);
  if (refused === 'unknown') throw unknownWebhook(id);
  if (refused === 'disabled')
    throw new Refused(`Webhook ${id} is disabled.`, { command: 'Enable the webhook with webhook update --enable.' });
  if (refused === 'not_permitted') throw new Refused(`The credential of webhook ${id} lost the grant for the website.`);
  if (found === 0 && 'event' in which)
    throw new Refused(`The website has no receipt ${JSON.stringify(which.event)} of the last seven days.`);
  return { found, queued, truncated: found === REPLAYED_MAX };
}

export const unknownWebhook = (id: string): Refused => new Refused(`There is no webhook ${JSON.stringify(id)}.`);

/** Throws if the webhook belongs to a subscription of an MCP client. That client changes its endpoints itself. */
export function requireOwn({ id, subscription_id: subscription }: EndpointRecord): void {
  if (subscription === null) return;
  throw new Refused(
    `Webhook ${id} belongs to subscription ${subscription} of an MCP client, which alone can change it.`,
    { command: 'webhook delete ends the subscription.' },
  );
}

function requireActive({ id, state }: NewWebhook['credential']): void {
  if (state !== 'active') throw new Refused(`Credential ${id} is ${state}.`);
}

const notPermitted = (crd: string, web: string): string =>
  `Credential ${crd} lacks a grant for the receipts of ${web}. The credential needs the website, website_read, event_read and no restrictions.`;

/** Checks the address of a receiver. A name that does not resolve now is only noted. */
async function receiver(
  { sender }: WebhookDoor,
  text: string,
): Promise<{ readonly url: string; readonly notes: readonly string[] }> {
  const checked = receiverOf(text, sender.allowed);
  if ('refused' in checked) throw new Refused(checked.refused, allowing(checked.origin));
  const { url, exempt } = checked;
  try {
    await checkedAddresses(url, exempt, sender.resolve);
    return { url: url.href, notes: [] };
  } catch (error) {
    if (error instanceof AddressRefused)
      throw new Refused(
        'The host name of the receiver resolves to an address that is not public.',
        allowing(url.origin),
      );
    const note = 'The host name of the receiver does not resolve now. Deliveries wait until the name resolves.';
    return { url: url.href, notes: [note] };
  }
}

/** Names the setting with which an operator can allow a receiver that is not https and public. */
const allowing = (origin: string | undefined): { readonly command?: string } =>
  origin === undefined
    ? {}
    : {
        command: `To allow this receiver, set GATEWAY_WEBHOOK_ALLOW=${origin} for the running gateway and for this command.`,
      };
