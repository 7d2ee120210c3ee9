import type { AuditSurface, CallReport, ClientTold } from '../../core/audit.ts';
import type { Surface } from '../../core/calls.ts';
import { FAILURE_CODES, statusOf } from '../../core/failures.ts';
import type { RequestRecord } from './records.ts';

/** The first product of a User-Agent header (RFC 9110, section 10.1.5). */
const PRODUCT = /^([!#$%&'*+.^_`|~\w-]{1,64})(?:\/([!#$%&'*+.^_`|~\w-]{1,32}))?(?:\s|$)/;

export function productOf(header: string | undefined): ClientTold | undefined {
  const [, name, version] = (header === undefined ? undefined : PRODUCT.exec(header)) ?? [];
  return name === undefined ? undefined : { name, version };
}

const SURFACES: Partial<Record<Surface, AuditSurface>> = {
  ...{ mcp: 'mcp', a2a: 'a2a', record: 'page', console: 'page' },
  oauth: 'page', // only people leave records there: their sign-ins and consents
};

/** The surface in audit records. Realtime sockets are an operation of REST. */
export const auditSurface = (surface: Surface | undefined): AuditSurface =>
  (surface === undefined ? undefined : SURFACES[surface]) ?? 'rest';

/**
 * The end of a call after its report: the client can be gone, or the reply refused, after the call itself. A JSON-RPC
 * error code says less than the report.
 */
export function endOf(
  report: CallReport,
  { record, status, unfinished }: { record: RequestRecord; status: number; unfinished: boolean },
): Pick<CallReport, 'outcome' | 'status'> {
  const failed = FAILURE_CODES.find((code) => code === record.code);
  const outcome = failed ?? (report.outcome === 'ok' && unfinished ? 'unfinished' : report.outcome);
  if (record.surface === 'rest' || auditSurface(record.surface) === 'page') return { outcome, status };
  return { outcome, status: failed && outcome !== report.outcome ? statusOf(failed) : report.status };
}
