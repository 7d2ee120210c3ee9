import type { Logger } from 'pino';
import { FAILURE_CODES, type Failure, statusOf } from '../core/failures.ts';

/** Kinds of audited actions (LG-02). */
export type AuditKind = 'authentication' | 'authorization' | 'consent' | 'revocation' | 'write';

/** The audit part of a log record. `unknown` means that the outcome of a write is only known to the ledger later. */
export interface Audit {
  readonly audit: AuditKind;
  readonly decision: 'allowed' | 'refused' | 'unknown';
}

export interface AuditedCall {
  /** Code of the failure. `undefined` means that the call succeeded. */
  readonly code?: string | undefined;
  /** Kind of the audited action that a success performs. `undefined` means that a success is not audited. */
  readonly does?: AuditKind | undefined;
}

/** Failure codes that are audited as a refusal of the given kind. Other failures are outcomes of the call itself. */
const REFUSALS: ReadonlyMap<string, AuditKind> = new Map([
  ...FAILURE_CODES.filter((code) => statusOf(code) === 401).map((code) => [code, 'authentication'] as const),
  ...['invalid_client', 'invalid_grant', 'slow_down', 'credentials', 'throttled'].map(
    (code) => [code, 'authentication'] as const,
  ),
  ...['session_ended', 'identity_lapsed', 'identity_refused', 'identity_unknown'].map(
    (code) => [code, 'authentication'] as const,
  ),
  ...['not_permitted', 'origin_not_allowed', 'human_consent_unsupported', 'invalid_scope', 'invalid_target'].map(
    (code) => [code, 'authorization'] as const,
  ),
  ['access_denied', 'consent'],
]);

const UNCERTAIN: ReadonlySet<string> = new Set([
  'outcome_unknown',
  'operation_in_progress',
  'service_unavailable',
  'authority_unavailable',
  'internal',
  'server_error',
  'temporarily_unavailable',
]);

/** Returns the logger for audit records. This logger writes audit records at every log level except `silent`. */
export const auditLog = (log: Logger): Logger => (log.level === 'silent' ? log : log.child({}, { level: 'info' }));

/** Returns the audited action of a failed call. A call outside the caller's authority counts as `authorization`. */
export const doesOf = ({ details }: Failure, does: AuditKind | undefined): AuditKind | undefined =>
  details.outside ? 'authorization' : does;

/** Returns the audit part of a log record. `undefined`: no audit, as for a successful read or a malformed request. */
export function auditOf({ code, does }: AuditedCall): Audit | undefined {
  const audit = (code === undefined ? undefined : REFUSALS.get(code)) ?? does;
  if (audit === undefined) return undefined;
  if (code === undefined) return { audit, decision: 'allowed' };
  return { audit, decision: UNCERTAIN.has(code) ? 'unknown' : 'refused' };
}
