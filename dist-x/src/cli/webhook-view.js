import { requireOwn, shownReceiver } from '../events/webhooks/administration.js';
import { readEndpoints } from '../store/administration/endpoints.js';
import { facts, plain, Refused, table, time } from './output.js';
export const endpointDocument = (record) => ({
    endpoint_id: record.id,
    credential_id: record.credential_id,
    website_id: record.website_id,
    url: shownReceiver(record.url),
    event_types: record.event_types,
    description: record.description,
    subscription_id: record.subscription_id,
    enabled: record.enabled,
    disabled_because: record.disabled_because,
    permitted: record.permitted,
    failing_since: record.failing_since,
    gap_since: record.gap_since,
    pending: record.pending,
    old_secret_until: record.old_secret_until,
    created_at: record.created_at,
    updated_at: record.updated_at,
});
const stateOf = ({ enabled, disabled_because, permitted, failing_since }) => {
    if (!enabled)
        return `disabled (${disabled_because})`;
    if (!permitted)
        return 'not permitted';
    return failing_since ? `failing since ${time(failing_since)}` : 'enabled';
};
export const endpointText = (record) => facts([
    ['webhook', `${record.id}, ${stateOf(record)}`],
    ['credential', record.credential_id],
    ['website', record.website_id],
    ['receiver', plain(shownReceiver(record.url))],
    ['event types', record.event_types],
    ...(record.description === '' ? [] : [['description', plain(record.description)]]),
    ...(record.gap_since ? [['gap since', time(record.gap_since)]] : []),
    ...(record.old_secret_until ? [['old secret', `signs until ${time(record.old_secret_until)}`]] : []),
]);
export const endpointTable = (records) => table(['WEBHOOK', 'CREDENTIAL', 'WEBSITE', 'RECEIVER', 'STATE', 'PENDING'], records.map((record) => [
    record.id,
    record.credential_id,
    record.website_id,
    plain(shownReceiver(record.url)),
    stateOf(record),
    String(record.pending),
]), 'There is no webhook.');
export const deliveryDocument = (record) => ({
    delivery_id: record.id,
    event_id: record.event_id,
    event_type: record.event_type,
    test: record.test,
    status: record.status,
    attempts: record.attempts,
    attempted_at: record.attempted_at,
    next_attempt_at: record.next_attempt_at,
    response_status: record.response_status,
    error: record.error,
    created_at: record.created_at,
    ended_at: record.ended_at,
});
export const testDocument = ({ id }, { delivery, event, accepted, status, error }) => ({
    endpoint_id: id,
    delivery_id: delivery,
    event_id: event,
    status: accepted ? 'delivered' : 'failed',
    response_status: status,
    error,
});
export const deliveryTable = (records, none) => table(['DELIVERY', 'EVENT', 'TYPE', 'STATUS', 'ATTEMPTS', 'RESPONSE', 'CREATED'], records.map((record) => [
    record.id,
    record.event_id,
    record.event_type,
    record.status,
    String(record.attempts),
    record.response_status === null ? (record.error ?? '') : String(record.response_status),
    time(record.created_at),
]), none);
export async function endpoint(db, id) {
    const [record] = await readEndpoints(db, { id });
    if (!record)
        throw unknown(id);
    return record;
}
/** A webhook that no client of MCP has made. */
export async function ownEndpoint(db, id) {
    const record = await endpoint(db, id);
    requireOwn(record);
    return record;
}
export const unknown = (id) => new Refused(`There is no webhook ${JSON.stringify(plain(id))}.`);
//# sourceMappingURL=webhook-view.js.map