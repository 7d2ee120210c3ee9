import { auditLog, auditOf, doesOf } from '../gateway/audit.js';
/** Logs each call of an A2A task by itself, because a task can outlive the request that started it (LG-02). */
export const tellRunCall = (log) => {
    const audits = auditLog(log);
    return ({ id, requestId, authority, tool, outcome }) => {
        const failure = 'failure' in outcome ? outcome.failure : undefined;
        const code = failure?.code;
        const does = tool.effect === 'write' ? 'write' : undefined;
        const audit = auditOf({ code, does: failure ? doesOf(failure, does) : does });
        if (!audit)
            return;
        const { operation } = outcome;
        const { credentialId: credential, consentId } = authority;
        audits.info({
            request_id: requestId,
            task: id,
            operation: tool.name,
            credential,
            ...(consentId !== null && { consent: consentId }),
            ...(code !== undefined && { code }),
            ...(operation && { operation_id: operation.id, ...(operation.replayed && { replayed: true }) }),
            ...audit,
        }, 'call of a task');
    };
};
//# sourceMappingURL=run-calls.js.map