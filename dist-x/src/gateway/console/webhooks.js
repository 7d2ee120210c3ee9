import { newId } from '../../auth/issue.js';
import { Refused } from '../../core/refused.js';
import { createWebhook, replayWebhook, requireOwn, rotateWebhook, testWebhook, updateWebhook, } from '../../events/webhooks/administration.js';
import { deleteEndpoint, pageOfDeliveries, pageOfEndpoints, } from '../../store/administration/endpoints.js';
import { findCredential } from './administration.js';
import { findSite } from './sites.js';
export { descriptionProblem, shownReceiver, typesProblem } from '../../events/webhooks/administration.js';
export { DELIVERY_STATUSES, } from '../../store/administration/endpoints.js';
/**
 * The webhooks of one organization. Each change calls what the command line calls, and throws `Refused` with a sentence
 * for the person. A change of a webhook that the organization does not have answers undefined.
 */
export const listWebhooks = (desk, search, slice) => pageOfEndpoints(desk.db, desk.by, search, slice);
export const findWebhook = async (desk, id) => (await listWebhooks(desk, { id }, { limit: 1, offset: 0 })).rows[0];
export const listDeliveries = (desk, id, search, slice) => pageOfDeliveries(desk.db, desk.by, id, search, slice);
export const newWebhookId = () => newId('whk');
const doorOf = ({ db, by, tools }) => ({ db, by, ...tools.webhooks });
export async function addWebhook(desk, id, form) {
    return createWebhook(doorOf(desk), { ...form, id, ...(await grantOf(desk, form)) });
}
/** If the webhook was changed after the form was shown, changes nothing and returns it as it is `now`. */
export async function changeWebhook(desk, id, { was, ...form }) {
    const record = await changeable(desk, id);
    if (!record)
        return undefined;
    const isAsShown = ({ updated_at }) => updated_at.getTime() === was?.getTime();
    if (!isAsShown(record))
        return { now: record };
    const { credential, site } = await grantOf(desk, form);
    // An address that the form repeats is not checked again. So its name need not resolve for other changes.
    const url = form.url === '' || form.url === record.url ? undefined : form.url;
    // The same website again would drop the queue.
    const moved = site.id === record.website_id ? undefined : site;
    const { eventTypes, description } = form;
    try {
        return await updateWebhook(doorOf(desk), record, { credential, site: moved, url, eventTypes, description, was });
    }
    catch (error) {
        const now = await findWebhook(desk, id);
        if (error instanceof Refused && now && !isAsShown(now))
            return { now };
        throw error;
    }
}
async function grantOf(desk, { credential, website }) {
    const [record, site] = await Promise.all([findCredential(desk, credential), findSite(desk, website)]);
    if (!record)
        throw new Refused('Choose one of the credentials.');
    if (!site)
        throw new Refused('Choose one of the websites.');
    return { credential: record, site };
}
export async function enableWebhook(desk, id, enabled) {
    const record = await changeable(desk, id);
    return record && updateWebhook(doorOf(desk), record, { enabled });
}
export async function newWebhookSecret(desk, id, overlap) {
    const record = await changeable(desk, id);
    return record && rotateWebhook(doorOf(desk), record, overlap);
}
export async function tryWebhook(desk, id) {
    const record = await changeable(desk, id);
    return record && testWebhook(doorOf(desk), record);
}
export async function deliverAgain(desk, id, which) {
    const record = await changeable(desk, id);
    return record && replayWebhook(desk, record, which);
}
export const removeWebhook = (desk, id) => deleteEndpoint(desk.db, id, desk.by);
async function changeable(desk, id) {
    const record = await findWebhook(desk, id);
    if (record)
        requireOwn(record);
    return record;
}
//# sourceMappingURL=webhooks.js.map