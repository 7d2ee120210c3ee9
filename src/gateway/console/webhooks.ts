import { newId } from '../../auth/issue.ts';
import { Refused } from '../../core/refused.ts';
import {
  createWebhook,
  type Managed,
  type ReplayedWebhook,
  replayWebhook,
  requireOwn,
  rotateWebhook,
  type Tested,
  testWebhook,
  updateWebhook,
  type WebhookDoor,
  type WithSecret,
} from '../../events/webhooks/administration.ts';
import type { ListPage, Slice } from '../../store/administration/administrator.ts';
import {
  type DeliveryRecord,
  type DeliverySearch,
  deleteEndpoint,
  type EndpointRecord,
  type EndpointSearch,
  pageOfDeliveries,
  pageOfEndpoints,
  type Replay,
} from '../../store/administration/endpoints.ts';
import { findCredential } from './administration.ts';
import type { AdministratorDesk } from './desk.ts';
import { findSite } from './sites.ts';

export { descriptionProblem, shownReceiver, typesProblem } from '../../events/webhooks/administration.ts';
export {
  DELIVERY_STATUSES,
  type DeliveryRecord,
  type EndpointRecord,
  type Replay,
} from '../../store/administration/endpoints.ts';

/** What the console needs to deliver webhooks, besides the store. */
export type WebhookTools = Pick<WebhookDoor, 'keys' | 'sender'>;

/**
 * The webhooks of one organization. Each change calls what the command line calls, and throws `Refused` with a sentence
 * for the person. A change of a webhook that the organization does not have answers undefined.
 */
export const listWebhooks = (
  desk: AdministratorDesk,
  search: EndpointSearch,
  slice: Slice,
): Promise<ListPage<EndpointRecord>> => pageOfEndpoints(desk.db, desk.by, search, slice);

export const findWebhook = async (desk: AdministratorDesk, id: string): Promise<EndpointRecord | undefined> =>
  (await listWebhooks(desk, { id }, { limit: 1, offset: 0 })).rows[0];

export const listDeliveries = (
  desk: AdministratorDesk,
  id: string,
  search: DeliverySearch,
  slice: Slice,
): Promise<ListPage<DeliveryRecord>> => pageOfDeliveries(desk.db, desk.by, id, search, slice);

export const newWebhookId = (): string => newId('whk');

const doorOf = ({ db, by, tools }: AdministratorDesk): WebhookDoor => ({ db, by, ...tools.webhooks });

/** What a form says about a webhook. */
export interface WebhookForm {
  readonly credential: string;
  readonly website: string;
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly description: string;
  /** When the webhook that the form shows was last changed. */
  readonly was: Date | undefined;
}

export async function addWebhook(
  desk: AdministratorDesk,
  id: string,
  form: Omit<WebhookForm, 'was'>,
): Promise<WithSecret> {
  return createWebhook(doorOf(desk), { ...form, id, ...(await grantOf(desk, form)) });
}

/** If the webhook was changed after the form was shown, changes nothing and returns it as it is `now`. */
export async function changeWebhook(
  desk: AdministratorDesk,
  id: string,
  { was, ...form }: WebhookForm,
): Promise<Managed | { readonly now: EndpointRecord } | undefined> {
  const record = await changeable(desk, id);
  if (!record) return undefined;
  const isAsShown = ({ updated_at }: EndpointRecord): boolean => updated_at.getTime() === was?.getTime();
  if (!isAsShown(record)) return { now: record };
  const { credential, site } = await grantOf(desk, form);
  // An address that the form repeats is not checked again. So its name need not resolve for other changes.
  const url = form.url === '' || form.url === record.url ? undefined : form.url;
  // The same website again would drop the queue.
  const moved = site.id === record.website_id ? undefined : site;
  const { eventTypes, description } = form;
  try {
    return await updateWebhook(doorOf(desk), record, { credential, site: moved, url, eventTypes, description, was });
  } catch (error) {
    const now = await findWebhook(desk, id);
    if (error instanceof Refused && now && !isAsShown(now)) return { now };
    throw error;
  }
}

async function grantOf(desk: AdministratorDesk, { credential, website }: Pick<WebhookForm, 'credential' | 'website'>) {
  const [record, site] = await Promise.all([findCredential(desk, credential), findSite(desk, website)]);
  if (!record) throw new Refused('Choose one of the credentials.');
  if (!site) throw new Refused('Choose one of the websites.');
  return { credential: record, site };
}

export async function enableWebhook(
  desk: AdministratorDesk,
  id: string,
  enabled: boolean,
): Promise<Managed | undefined> {
  const record = await changeable(desk, id);
  return record && updateWebhook(doorOf(desk), record, { enabled });
}

export async function newWebhookSecret(
  desk: AdministratorDesk,
  id: string,
  overlap: number,
): Promise<WithSecret | undefined> {
  const record = await changeable(desk, id);
  return record && rotateWebhook(doorOf(desk), record, overlap);
}

export async function tryWebhook(desk: AdministratorDesk, id: string): Promise<Tested | undefined> {
  const record = await changeable(desk, id);
  return record && testWebhook(doorOf(desk), record);
}

export async function deliverAgain(
  desk: AdministratorDesk,
  id: string,
  which: Replay,
): Promise<ReplayedWebhook | undefined> {
  const record = await changeable(desk, id);
  return record && replayWebhook(desk, record, which);
}

export const removeWebhook = (desk: AdministratorDesk, id: string): Promise<boolean> =>
  deleteEndpoint(desk.db, id, desk.by);

async function changeable(desk: AdministratorDesk, id: string): Promise<EndpointRecord | undefined> {
  const record = await findWebhook(desk, id);
  if (record) requireOwn(record);
  return record;
}
