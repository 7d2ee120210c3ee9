import type { ListPage, Slice } from '../../store/administration/administrator.ts';
import type { ApprovalSearch } from '../../store/administration/approvals.ts';
import { type Approval, type Decision, decide, pageOf } from '../approvals.ts';
import type { Registry } from '../registry.ts';
import type { AdministratorDesk, AdministratorRecord } from './desk.ts';

export { APPROVAL_STATES } from '../../store/administration/approvals.ts';
export type { Approval, Decision } from '../approvals.ts';

interface Decider {
  readonly desk: AdministratorDesk;
  readonly person: Pick<AdministratorRecord, 'role'>;
  readonly registry: Registry;
}

export const listWrites = (
  { db, by }: AdministratorDesk,
  registry: Registry,
  search: ApprovalSearch,
  slice: Slice,
): Promise<ListPage<Approval>> => pageOf({ db, registry, by }, search, slice);

export const findWrite = async (
  desk: AdministratorDesk,
  registry: Registry,
  id: string,
): Promise<Approval | undefined> => (await listWrites(desk, registry, { id }, { limit: 1, offset: 0 })).rows[0];

/**
 * Decides about a write. The statement of the decision inserts its audit record itself. The record of an approver names
 * the credential, too, because its list is the approver's right. Others decide by their role.
 */
export function decideWrite({ desk, person, registry }: Decider, id: string, approve: boolean): Promise<Decision> {
  const { db, by, tools, recorded } = desk;
  const on = { db: recorded?.db ?? db, registry, by, remote: tools.remote };
  return decide(on, id, approve, ({ target, website_id, operation_id, credential_id }) =>
    recorded?.draftOf({
      targets: person.role === 'operator' ? [target, credential_id] : [target],
      websiteId: website_id,
      operationId: operation_id,
    }),
  );
}
