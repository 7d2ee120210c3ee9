import type { Logger } from 'pino';
import { FAILURE_CODES, type Failure, statusOf } from '../core/failures.ts';

/** What a record tells that somebody may have to answer for (checks, LG-02). */
export type AuditKind = 'authentication' | 'authorization' | 'consent' | 'revocation' | 'write';

/** `unknown`: a write of which nobody can say yet whether it was done; the ledger can. */
export interface Audit {
  readonly audit: AuditKind;
  readonly decision: 'allowed' | 'refused' | 'unknown';
}

export interface AuditedCall {
  /** Of its failure. */
  readonly code?: string | undefined;
  /** What it does where nothing stops it; `undefined`: nothing that is audited. */
  readonly does?: AuditKind | undefined;
}

/** Refusals by what was refused: who somebody is, or what they may do. Others are the call's own outcome. */
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

/** Where records of the audit go: whatever level the log has, they are there. Only `silent` is without them. */
export const auditLog = (log: Logger): Logger => (log.level === 'silent' ? log : log.child({}, { level: 'info' }));

/** What a refusal makes of it: whoever reached beyond their authority is judged for that, whatever they wanted to do there. */
export const doesOf = ({ details }: Failure, does: AuditKind | undefined): AuditKind | undefined =>
  details.outside ? 'authorization' : does;

/** The audit's part of a record; `undefined` of what is not audited: reads that were answered, requests not understood. */
export function auditOf({ code, does }: AuditedCall): Audit | undefined {
  const audit = (code === undefined ? undefined : REFUSALS.get(code)) ?? does;
  if (audit === undefined) return undefined;
  if (code === undefined) return { audit, decision: 'allowed' };
  return { audit, decision: UNCERTAIN.has(code) ? 'unknown' : 'refused' };
}
