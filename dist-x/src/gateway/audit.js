import { FAILURE_CODES, statusOf } from '../core/failures.js';
/** The failure codes that the audit counts as refusals, with the kind of their entries. */
const REFUSALS = new Map([
    ...FAILURE_CODES.filter((code) => statusOf(code) === 401).map((code) => [code, 'authentication']),
    ...['invalid_client', 'invalid_grant', 'slow_down', 'credentials', 'throttled'].map((code) => [code, 'authentication']),
    ...['session_ended', 'identity_lapsed', 'identity_refused', 'identity_unknown'].map((code) => [code, 'authentication']),
    ...['not_permitted', 'origin_not_allowed', 'human_consent_unsupported', 'invalid_scope', 'invalid_target'].map((code) => [code, 'authorization']),
    ['address_refused', 'authentication'],
    ['access_denied', 'consent'],
]);
const UNCERTAIN = new Set([
    'outcome_unknown',
    'operation_in_progress',
    'service_unavailable',
    'authority_unavailable',
    'internal',
    'server_error',
    'temporarily_unavailable',
]);
/** Audit entries are written at every log level except `silent`. */
export const auditLog = (log) => (log.level === 'silent' ? log : log.child({}, { level: 'info' }));
/** The code of a failed call's entry. It can say more than the caller may learn: a call from an address outside. */
export const codeOf = ({ code, details }) => details.logged ?? code;
/** The kind of a failed call's entry. A call beyond the caller's authority gets `authorization`. */
export const doesOf = ({ details }, does) => details.outside ? 'authorization' : does;
/** Undefined: no audit entry, for example for a successful read. */
export function auditOf({ code, does }) {
    const audit = (code === undefined ? undefined : REFUSALS.get(code)) ?? does;
    if (audit === undefined)
        return undefined;
    if (code === undefined)
        return { audit, decision: 'allowed' };
    return { audit, decision: UNCERTAIN.has(code) ? 'unknown' : 'refused' };
}
//# sourceMappingURL=audit.js.map