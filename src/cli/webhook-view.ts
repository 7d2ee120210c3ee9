import { pick } from '../core/json.ts';
import { requireOwn, shownReceiver, type Tested } from '../events/webhooks/administration.ts';
import { type DeliveryRecord, type EndpointRecord, readEndpoints } from '../store/administration/endpoints.ts';
import type { Database } from '../store/driver/postgres.ts';
import { facts, plain, Refused, table, time } from './output.ts';

export const endpointDocument = (record: EndpointRecord): object => ({
  endpoint_id: record.id,
  ...pick(record, 'credential_id', 'website_id'),
  url: shownReceiver(record.url),
  ...pick(record, 'event_types', 'description', 'subscription_id', 'enabled', 'disabled_because', 'permitted'),
  ...pick(record, 'failing_since', 'gap_since', 'pending', 'old_secret_until', 'created_at', 'updated_at'),
});

const stateOf = ({ enabled, disabled_because, permitted, failing_since }: EndpointRecord): string => {
  if (!enabled) return `disabled (${disabled_because})`;
  if (!permitted) return 'not permitted';
  return failing_since ? `failing since ${time(failing_since)}` : 'enabled';
};

export const endpointText = (record: EndpointRecord): string =>
  facts([
    ['webhook', `${record.id}, ${stateOf(record)}`],
    ['credential', record.credential_id],
    ['website', record.website_id],
    ['receiver', plain(shownReceiver(record.url))],
    ['event types', record.event_types],
    ...(record.description === '' ? [] : [['description', plain(record.description)] as const]),
    ...(record.gap_since ? [['gap since', time(record.gap_since)] as const] : []),
    ...(record.old_secret_until ? [['old secret', `signs until ${time(record.old_secret_until)}`] as const] : []),
  ]);

export const endpointTable = (records: readonly EndpointRecord[]): string =>
  table(
    ['WEBHOOK', 'CREDENTIAL', 'WEBSITE', 'RECEIVER', 'STATE', 'PENDING'],
    records.map((record) => [
      record.id,
      record.credential_id,
      record.website_id,
      plain(shownReceiver(record.url)),
      stateOf(record),
      String(record.pending),
    ]),
    'There is no webhook.',
  );

export const testDocument = ({ id }: EndpointRecord, { delivery, event, accepted, status, error }: Tested): object => ({
  endpoint_id: id,
  delivery_id: delivery,
  event_id: event,
  status: accepted ? 'delivered' : 'failed',
  response_status: status,
  error,
});

export const deliveryTable = (records: readonly DeliveryRecord[], none: string): string =>
  table(
    ['DELIVERY', 'EVENT', 'TYPE', 'STATUS', 'ATTEMPTS', 'RESPONSE', 'CREATED'],
    records.map((record) => [
      record.id,
      record.event_id,
      record.event_type,
      record.status,
      String(record.attempts),
      record.response_status === null ? (record.error ?? '') : String(record.response_status),
      time(record.created_at),
    ]),
    none,
  );

export async function endpoint(db: Database, id: string): Promise<EndpointRecord> {
  const [record] = await readEndpoints(db, { id });
  if (!record) throw unknown(id);
  return record;
}

/** A webhook that no client of MCP has made. */
export async function ownEndpoint(db: Database, id: string): Promise<EndpointRecord> {
  const record = await endpoint(db, id);
  requireOwn(record);
  return record;
}

export const unknown = (id: string): Refused => new Refused(`There is no webhook ${JSON.stringify(plain(id))}.`);
