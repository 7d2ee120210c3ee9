import type { StoredAudit } from '../store/audit/records.ts';
import type { AuditHead } from '../store/audit/verify.ts';
import type { AuditRecord } from './chain.ts';
import type { QueuedCall } from './queue.ts';

export interface ChainPlace extends Omit<AuditHead, 'day'> {
  readonly previous: string;
}

/** Texts that need no quotes in a literal of PostgreSQL. Nearly all members are such texts. */
const PLAIN = /^[\w.:/+~@*-]+$/;
const escaped = (text: string): string => text.replace(/["\\]/g, '\\$&');

/** A member of a row literal (PostgreSQL manual, section 8.16.6) within an array literal (section 8.15.6). */
export function member(value: string | number | null | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') return String(value);
  return PLAIN.test(value) ? value : escaped(`"${escaped(value)}"`);
}

/** A digest `\x…`, written as `member` would write it. */
const bytes = (digest: string | null | undefined): string =>
  digest === undefined || digest === null ? '' : `\\"\\\\\\\\${digest.slice(1)}\\"`;

const list = (values: readonly string[] = []): string =>
  values.every((value) => PLAIN.test(value))
    ? `\\"{${values.join(',')}}\\"`
    : escaped(`"${escaped(`{${values.map((value) => `"${escaped(value)}"`).join(',')}}`)}"`);

/**
 * The members of a record in the order of the columns, as a row literal has them. This text is also what the digest of the
 * record covers: a stored record gives the same text again.
 */
export const auditMembers = (r: AuditRecord | StoredAudit): string =>
  `${member(r.time)},${r.id},${member(r.organization_id)},${member(r.website_id)},${member(r.app_id)},${member(
    r.installation_id,
  )},${member(r.credential_id)},${member(r.person_id)},${member(r.client_name)},${member(r.client_version)},${member(
    r.address,
  )},${member(r.surface)},${member(r.operation)},${list(r.targets)},${member(r.count)},${member(r.outcome)},${r.status},${
    r.units
  },${r.duration_ms},${member(r.request_id)},${member(r.trace_id)},${bytes(r.input_digest)},${member(r.operation_id)},${
    r.replayed ? 't' : 'f'
  }`;

/** An element of an array literal of gateway.audit_row. */
export const auditRow = (members: string, { writer, seq, kid, previous, digest }: ChainPlace): string =>
  `"(${members},${writer},${seq},${member(kid)},${bytes(previous)},${bytes(digest)})"`;

/** An element of an array literal of gateway.audit_entry. `ms`: the rest of its time behind the second of its block. */
export const auditEntry = (
  ms: number,
  { origin, report }: QueuedCall,
  duration: number,
  input: string | undefined,
): string =>
  `"(${ms},${member(report.websiteId)},${member(report.operation)},${list(report.targets)},${report.count ?? ''},${member(
    report.outcome,
  )},${report.status},${report.units},${duration},${member(origin.requestId || undefined)},${member(
    origin.traceId,
  )},${bytes(input)})"`;
