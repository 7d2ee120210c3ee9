import { decide, pageOf } from '../approvals.js';
export { APPROVAL_STATES } from '../../store/administration/approvals.js';
export const listWrites = ({ db, by }, registry, search, slice) => pageOf({ db, registry, by }, search, slice);
export const findWrite = async (desk, registry, id) => (await listWrites(desk, registry, { id }, { limit: 1, offset: 0 })).rows[0];
/**
 * Decides about a write. The statement of the decision inserts its audit record itself. The record of an approver names
 * the credential, too, because its list is the approver's right. Others decide by their role.
 */
export function decideWrite({ desk, person, registry }, id, approve) {
    const { db, by, tools, recorded } = desk;
    const on = { db: recorded?.db ?? db, registry, by, remote: tools.remote };
    return decide(on, id, approve, ({ target, website_id, operation_id, credential_id }) => recorded?.draftOf({
        targets: person.role === 'operator' ? [target, credential_id] : [target],
        websiteId: website_id,
        operationId: operation_id,
    }));
}
//# sourceMappingURL=approvals.js.map