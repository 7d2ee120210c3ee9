import { newId } from '../../auth/issue.ts';
import { Refused } from '../../core/refused.ts';
import {
  createWebhook,
  type Managed,
  replayWebhook,
  requireOwn,
  rotateWebhook,
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
  pageOfDeliveries,
  pageOfEndpoints,
} from '../../store/administration/endpoints.ts';
import { findCredential, websiteNames } from './administration.ts';
import { type AdministratorDesk, changing, finding, listing } from './desk.ts';

export {
  deliveryDocument,
  descriptionProblem,
  shownReceiver,
  typesProblem,
} from '../../events/webhooks/administration.ts';
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
export const listWebhooks = listing(pageOfEndpoints);

export const findWebhook = finding(listWebhooks);

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
  const [record, names] = await Promise.all([findCredential(desk, credential), websiteNames(desk)]);
  const [, , site] = website.split('_');
  if (!record) throw new Refused('Choose one of the credentials.');
  if (site === undefined || !names.has(website)) throw new Refused('Choose one of the websites.');
  return { credential: record, site: { id: website, tenant: desk.by.tenant, site } };
}

/** An act on a webhook of the console's organization. Undefined: there is no such webhook. */
const managing =
  <More extends unknown[], Made>(act: (door: WebhookDoor, record: EndpointRecord, ...more: More) => Promise<Made>) =>
  async (desk: AdministratorDesk, id: string, ...more: More): Promise<Made | undefined> => {
    const record = await changeable(desk, id);
    return record && act(doorOf(desk), record, ...more);
  };

export const enableWebhook = managing((door: WebhookDoor, record: EndpointRecord, enabled: boolean) =>
  updateWebhook(door, record, { enabled }),
);
export const newWebhookSecret = managing(rotateWebhook);
export const tryWebhook = managing(testWebhook);
export const deliverAgain = managing(replayWebhook);
export const removeWebhook = changing(deleteEndpoint);

async function changeable(desk: AdministratorDesk, id: string): Promise<EndpointRecord | undefined> {
  const record = await findWebhook(desk, id);
  if (record) requireOwn(record);
  return record;
}
