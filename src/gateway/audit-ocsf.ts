import { packageVersion } from '../config/package.ts';
import type { AuditRecordDocument } from '../core/audit-records.ts';

/** The release of the schema that the events follow. docs/audit.md names its source. */
export const OCSF_VERSION = '1.8.0';

const CLASS = 6003;
const READ = 2;
const OTHER = 99;
/** What an operation does, by the last word of its name. A call that runs no write is a read. */
const ACTIVITIES: Readonly<Record<string, number>> = {
  ...{ add: 1, create: 1, issue: 1, map: 1, reply: 1, consent: 1 },
  ...{ set: 3, replace: 3, update: 3, enable: 3, disable: 3, rotate: 3, assign: 3 },
  ...{ on: 3, off: 3, role: 3, pause: 3, resume: 3, approve: 3, reject: 3 },
  ...{ delete: 4, remove: 4, close: 4, revoke: 4, unmap: 4 },
  ...{ in: OTHER, out: OTHER, link: OTHER, test: OTHER, replay: OTHER, check: OTHER, execute: OTHER, plan: OTHER },
};
/** The pages of the console have names such as `console_person_add`. The ways in and out are no pages. */
const PAGE = /^console_(?!sign_|link$)/;

function activityOf({ operation, operation_id, surface }: AuditRecordDocument): number {
  const known = PAGE.test(operation) ? READ : ACTIVITIES[operation.slice(operation.search(/[a-z]+$/))];
  return known ?? (operation_id !== undefined || surface === 'cli' || operation === 'lost' ? OTHER : READ);
}

/** The schema has only whole addresses as `ip`. A network stands in `name`. */
const endpointOf = (address: string | null): object =>
  address === null ? { name: 'local' } : address.includes('/') ? { name: address } : { ip: address };

const LABELS: Readonly<Record<number, string>> = { 1: 'Create', 2: 'Read', 3: 'Update', 4: 'Delete', 99: 'Other' };

/** The record as an event of the class API Activity. What the class has no attribute for is in `unmapped`. */
export function ocsfOf(record: AuditRecordDocument): object {
  const activity = activityOf(record);
  const ok = record.outcome === 'ok';
  const { installation_id, credential_id, person_id, operation, targets, request_id } = record;
  return {
    activity_id: activity,
    activity_name: LABELS[activity],
    category_uid: 6,
    category_name: 'Application Activity',
    class_uid: CLASS,
    class_name: 'API Activity',
    type_uid: CLASS * 100 + activity,
    type_name: `API Activity: ${LABELS[activity]}`,
    severity_id: 1,
    severity: 'Informational',
    time: Date.parse(record.time),
    status_id: ok ? 1 : 2,
    status: ok ? 'Success' : 'Failure',
    status_code: record.outcome,
    metadata: {
      version: OCSF_VERSION,
      product: { name: 'Installation Gateway', version: packageVersion },
      uid: record.audit_id,
      tenant_uid: record.organization_id,
      ...(request_id !== null && { correlation_uid: request_id }),
    },
    actor: {
      app_uid: credential_id ?? 'installation-gateway',
      ...(person_id !== undefined && { user: { uid: person_id } }),
    },
    api: { operation, ...(request_id !== null && { request: { uid: request_id } }) },
    src_endpoint: endpointOf(record.address),
    http_response: { code: record.status },
    ...(targets.length > 0 && {
      resources: targets.map((uid) => ({ uid, type: uid.slice(0, uid.indexOf('_')) })),
    }),
    unmapped: {
      ...{ surface: record.surface, units: record.units, duration_ms: record.duration_ms, installation_id },
      ...{ website_id: record.website_id, client: record.client, count: record.count, trace_id: record.trace_id },
      ...{ operation_id: record.operation_id, replayed: record.replayed },
    },
  };
}
