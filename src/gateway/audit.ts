import type { Logger } from 'pino';
import { FAILURE_CODES, type Failure, statusOf } from '../core/failures.ts';

/**
 * The kind of an audited action. `view`: a person looks at a record on its page, or exports a list of the console.
 * `administration`: an owner or admin changes something in the console.
 */
export type AuditKind =
  | 'administration'
  | 'authentication'
  | 'authorization'
  | 'consent'
  | 'revocation'
  | 'view'
  | 'write';

/** `unknown`: nobody knows whether the action happened. */
export interface Audit {
  readonly audit: AuditKind;
  readonly decision: 'allowed' | 'refused' | 'unknown';
}

export interface AuditedCall {
  readonly code?: string | undefined;
  /** The kind of action that a successful call performs. Undefined: success is not audited. */
  readonly does?: AuditKind | undefined;
}

/** The failure codes that the audit counts as refusals, with the kind of their entries. */
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

/** Audit entries are written at every log level except `silent`. */
export const auditLog = (log: Logger): Logger => (log.level === 'silent' ? log : log.child({}, { level: 'info' }));

/** The kind of a failed call's entry. A call beyond the caller's authority gets `authorization`. */
export const doesOf = ({ details }: Failure, does: AuditKind | undefined): AuditKind | undefined =>
  details.outside ? 'authorization' : does;

/** Undefined: no audit entry, for example for a successful read. */
export function auditOf({ code, does }: AuditedCall): Audit | undefined {
  const audit = (code === undefined ? undefined : REFUSALS.get(code)) ?? does;
  if (audit === undefined) return undefined;
  if (code === undefined) return { audit, decision: 'allowed' };
  return { audit, decision: UNCERTAIN.has(code) ? 'unknown' : 'refused' };
}
