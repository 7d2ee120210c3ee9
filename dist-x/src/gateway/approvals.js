import { randomUUID } from 'node:crypto';
import { OperatorId, TeamId, websiteKey } from '../core/ids.js';
import { pageOfApprovals, readApprovals, storeDecision, } from '../store/administration/approvals.js';
import { loadAskedAuthority } from '../store/calls/authority.js';
import { StaleAuthority } from '../store/calls/guard.js';
import { performReserved, reservesFor } from './writes.js';
export const listApprovals = async ({ db, registry }, filter) => named(await readApprovals(db, filter), registry);
/** One page of the approvals of an organization, for the console. */
export async function pageOf({ db, registry, by }, search, slice) {
    const { rows, total } = await pageOfApprovals(db, by, search, slice);
    return { rows: named(rows, registry), total };
}
const named = (records, registry) => records.flatMap((record) => {
    const id = registry.get(record.operation)?.performs?.about[1].id;
    if (id === undefined || id === 'plain')
        return [];
    const website = websiteKey(record.tenant, record.site);
    const target = id.format(website, record.record);
    return [{ ...record, website_id: website.id, target, ...assigneeOf(record, website) }];
});
/** The members `operator` and `team` of a command are native ids. */
function assigneeOf({ command, assignee_name: name }, website) {
    const { operator = undefined, team = undefined } = command ?? {};
    if (typeof team === 'string')
        return { assignee: { kind: 'team', id: TeamId.format(website, team), name } };
    if (typeof operator !== 'string')
        return {};
    return { assignee: { kind: 'operator', id: OperatorId.format(website, operator), name } };
}
/** Attempts for one decision. Another one is needed if the authority of the write ended during the first. */
const ATTEMPTS = 3;
const MADE = ['rejected', 'reserved'];
/**
 * Approves or rejects a pending write. One decision wins. An approved write takes effect under its credential's authority
 * of this moment, at most once. `draft` makes the audit record of the decision.
 */
export async function decide(desk, id, approve, draft) {
    const { db, registry, by } = desk;
    const [approval] = await listApprovals(desk, { id, ...(by && { tenant: by.tenant }) });
    const tool = approval && registry.get(approval.operation);
    if (!approval || !tool?.performs)
        return { state: 'gone' };
    const { performs: write, author: authored, emits: receipts } = tool;
    const remote = authored ? desk.remote : undefined;
    const recorded = draft(approval);
    const asked = {
        ...{ approval, approve, attempt: randomUUID(), view: write.about[1], draft: recorded, by },
        kind: { write, authored, receipts, remote: reservesFor(remote) },
    };
    for (let attempt = 1;; attempt++) {
        const authority = await loadAskedAuthority(db, id);
        const decision = await storeDecision(db, { ...asked, authority }).catch((error) => {
            if (!(error instanceof StaleAuthority) || attempt === ATTEMPTS)
                throw error;
        });
        if (!decision)
            continue;
        // As gateway.decide_approval inserts it.
        const isMade = 'outcome' in decision ? !('refused' in decision.outcome) : MADE.includes(decision.state);
        if (recorded && isMade)
            recorded.inserted = true;
        if (decision.state !== 'reserved')
            return endingOf(decision);
        if (!remote)
            throw new Error(`${approval.operation} is reserved for no other system`);
        const { author, command, epoch } = decision;
        const work = { operationId: id, website: approval.website_id, author, command };
        return endingOf(await performReserved(db, remote, work, { epoch, attempt: asked.attempt, receipts }));
    }
}
function endingOf(ended) {
    if (ended.state === 'unknown')
        return { state: 'performed', status: 'outcome_unknown' };
    if (!('outcome' in ended))
        return ended;
    const { outcome } = ended;
    if ('refused' in outcome)
        return { state: 'refused', code: outcome.refused };
    return {
        state: 'performed',
        status: 'acknowledged',
        ...('rejected' in outcome && { rejected: outcome.rejected }),
    };
}
//# sourceMappingURL=approvals.js.map