import { Failure } from '../core/failures.js';
/** The failure code for each state of a ledger entry without an outcome. */
const CODES = {
    pending: 'operation_in_progress',
    reserved: 'operation_in_progress',
    unknown: 'outcome_unknown',
    forgotten: 'outcome_unknown',
    conflict: 'idempotency_conflict',
    full: 'approval_limit',
    rejected: 'approval_rejected',
    lapsed: 'approval_lapsed',
};
/** The path of the page on which a person decides about a pending write. */
const pageOf = (operationId) => `/console/approvals/${operationId}`;
/** Thrown in place of a result: a person must approve the write first. `receipt` is the body of the answer. */
export class AwaitsApproval extends Error {
    name = 'AwaitsApproval';
    page;
    receipt;
    constructor({ operation_id, website_id, operation }) {
        super('a person must approve the write first');
        this.page = pageOf(operation_id);
        const coverage = 'gateway_command_receipt';
        this.receipt = { data: { operation_id, website_id, operation, status: 'pending', coverage } };
    }
}
/**
 * Returns the result of a ledger entry, or throws its Failure. `report` runs before the throw, so that a failed call
 * also reports its operation. Refused commands and commands without a key are not in the ledger, so `report` does not
 * run.
 */
export function resultOf(entry, operationId, report) {
    const refused = 'outcome' in entry && 'refused' in entry.outcome;
    if (operationId !== undefined && !refused && entry.state !== 'full')
        report({ id: operationId, replayed: entry.state === 'settled' });
    if ('outcome' in entry)
        return doneOf(entry.outcome);
    const code = CODES[entry.state];
    throw new Failure(code, code === 'operation_in_progress' ? { retryAfter: 1 } : {});
}
function doneOf(outcome) {
    if ('done' in outcome)
        return outcome.done;
    throw new Failure('rejected' in outcome ? outcome.rejected : outcome.refused);
}
//# sourceMappingURL=outcomes.js.map