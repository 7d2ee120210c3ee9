import { randomUUID } from 'node:crypto';
import { auditLog, auditOf, codeOf, doesOf } from '../../gateway/audit.js';
export function noteCall(record, { authority, operation, }) {
    if (authority)
        noteActor(record, authority);
    if (operation)
        record.audit = { operation_id: operation.id, ...(operation.replayed && { replayed: true }) };
}
export function noteActor(record, authority) {
    const { appId, credentialId, consentId } = authority;
    record.actor = authority;
    record.app = appId;
    record.credential = credentialId;
    if (consentId !== null)
        record.consent = consentId;
}
export function noteRefusal(record, failure) {
    const { details } = failure;
    record.code = codeOf(failure);
    record.cause = details.cause;
    // An expired or revoked token is refused, but the log still names its credential.
    const { actor } = details;
    if (actor?.credentialId !== undefined)
        record.credential ??= actor.credentialId;
    record.actor ??= actor;
    record.does = doesOf(failure, record.does);
}
/**
 * Writes one log line for each request, opened socket and closed socket. The log level depends on the failure code and
 * not only on the status, because a failed MCP call has status 200.
 *
 * `from` returns the caller's address. It is logged only for an audited authentication, and for an audited refusal
 * without a known credential.
 */
export const teller = (log) => {
    const audits = auditLog(log);
    return (entry, { code, credential, consent, does, audit, cause }, from, what = 'request') => {
        const failed = entry.status === 500 || code === 'internal';
        const level = failed ? 'error' : entry.status === 503 || cause !== undefined ? 'warn' : 'info';
        const audited = auditOf({ code, does });
        const unknown = audited && audited.decision !== 'allowed' && credential === undefined;
        const who = {
            ...(credential !== undefined && { credential }),
            ...(consent !== undefined && { consent }),
            ...(code !== undefined && { code }),
            ...((audited?.audit === 'authentication' || unknown) && { source: from() }),
            ...audit,
            ...audited,
        };
        (audited ? audits : log)[level]({ ...entry, ...who, ...(level !== 'info' && { err: cause }) }, what);
    };
};
export function endedCall({ request_id, status, ms }, { surface = 'public', operation = 'none', code }, unfinished) {
    const outcome = code ?? (unfinished ? 'unfinished' : status < 400 ? 'ok' : `http_${status}`);
    return { surface, operation, outcome, status, seconds: ms / 1_000, requestId: request_id };
}
/** Milliseconds since `began` (performance.now()), with one decimal. */
export const since = (began) => Math.round((performance.now() - began) * 10) / 10;
// randomUUID draws its random bits for 128 ids at once. One draw for each request took 5 % of the time of a read.
export const newRequestId = () => `req_${randomUUID().replaceAll('-', '')}`;
//# sourceMappingURL=records.js.map