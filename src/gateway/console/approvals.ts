import type { ApprovalSearch } from '../../store/administration/approvals.ts';
import { type Approval, type Decision, decide, pageOf } from '../approvals.ts';
import type { Registry } from '../registry.ts';
import type { ListPage, Slice } from './administration.ts';
import type { AdministratorDesk } from './desk.ts';

export { APPROVAL_STATES } from '../../store/administration/approvals.ts';
export type { Approval, Decision } from '../approvals.ts';

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

/** Decides about a write. The statement of the decision inserts its audit record itself. */
export function decideWrite(
  { db, by, tools, recorded }: AdministratorDesk,
  registry: Registry,
  id: string,
  approve: boolean,
): Promise<Decision> {
  const desk = { db: recorded?.db ?? db, registry, by, remote: tools.remote };
  return decide(desk, id, approve, ({ target, website_id, operation_id }) =>
    recorded?.draftOf({ targets: [target], websiteId: website_id, operationId: operation_id }),
  );
}
