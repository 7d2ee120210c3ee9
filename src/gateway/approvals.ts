import { randomUUID } from 'node:crypto';
import type { AuditDraft } from '../core/audit.ts';
import type { FailureCode } from '../core/failures.ts';
import { OperatorId, TeamId, type WebsiteKey, websiteKey } from '../core/ids.ts';
import type { RemoteWriter } from '../core/writes.ts';
import type { Administrator, ListPage, Slice } from '../store/administration/administrator.ts';
import {
  type ApprovalFilter,
  type ApprovalRecord,
  type ApprovalSearch,
  type ApprovalState,
  pageOfApprovals,
  readApprovals,
  storeDecision,
} from '../store/administration/approvals.ts';
import { loadAskedAuthority } from '../store/calls/authority.ts';
import { StaleAuthority } from '../store/calls/guard.ts';
import type { Database } from '../store/driver/postgres.ts';
import type { Registry } from './registry.ts';
import { performReserved, reservesFor } from './writes.ts';

/** A write that waits for a person, with the public ids of its record and its website. */
export interface Approval extends ApprovalRecord {
  readonly website_id: string;
  readonly target: string;
  /** Who gets the conversation. Undefined: nobody, or the write is no assignment, or its wait is over. */
  readonly assignee?: { readonly kind: 'operator' | 'team'; readonly id: string; readonly name: string | null };
}

export interface ApprovalDesk {
  readonly db: Database;
  readonly registry: Registry;
  /** Without it, all writes go to the store. */
  readonly remote?: RemoteWriter | undefined;
  /** The owner or admin who decides in the console. Undefined for the command line. */
  readonly by?: Administrator | undefined;
}

/**
 * How a decision has ended. `decided`: somebody was faster. `lapsed`: the write can no longer be approved. `own`: the
 * credential wants another person. `refused`: the write cannot begin now. After both, the write still waits. `performed`:
 * approved. Its effect is known, unless `status` says otherwise.
 */
export type Decision =
  | { readonly state: 'gone' | 'lapsed' | 'rejected' | 'own' }
  | { readonly state: 'decided'; readonly approval: ApprovalState }
  | { readonly state: 'refused'; readonly code: FailureCode }
  | {
      readonly state: 'performed';
      readonly status: 'acknowledged' | 'outcome_unknown';
      /** Why the data did not allow the write. Undefined: the write has had its effect. */
      readonly rejected?: FailureCode;
    };

type ApprovalStore = Pick<ApprovalDesk, 'db' | 'registry'>;

export const listApprovals = async ({ db, registry }: ApprovalStore, filter: ApprovalFilter): Promise<Approval[]> =>
  named(await readApprovals(db, filter), registry);

/** One page of the approvals of an organization, for the console. */
export async function pageOf(
  { db, registry, by }: ApprovalStore & { readonly by: Administrator },
  search: ApprovalSearch,
  slice: Slice,
): Promise<ListPage<Approval>> {
  const { rows, total } = await pageOfApprovals(db, by, search, slice);
  return { rows: named(rows, registry), total };
}

const named = (records: readonly ApprovalRecord[], registry: Registry): Approval[] =>
  records.flatMap((record) => {
    const id = registry.get(record.operation)?.performs?.about[1].id;
    if (id === undefined || id === 'plain') return [];
    const website = websiteKey(record.tenant, record.site);
    const target = id.format(website, record.record);
    return [{ ...record, website_id: website.id, target, ...assigneeOf(record, website) }];
  });

/** The members `operator` and `team` of a command are native ids. */
function assigneeOf({ command, assignee_name: name }: ApprovalRecord, website: WebsiteKey): Pick<Approval, 'assignee'> {
  const { operator = undefined, team = undefined }: Readonly<Record<string, unknown>> = command ?? {};
  if (typeof team === 'string') return { assignee: { kind: 'team', id: TeamId.format(website, team), name } };
  if (typeof operator !== 'string') return {};
  return { assignee: { kind: 'operator', id: OperatorId.format(website, operator), name } };
}

/** Attempts for one decision. Another one is needed if the authority of the write ended during the first. */
const ATTEMPTS = 3;
const MADE: readonly string[] = ['rejected', 'reserved'];

/**
 * Approves or rejects a pending write. One decision wins. An approved write takes effect under its credential's authority
 * of this moment, at most once. `draft` makes the audit record of the decision.
 */
export async function decide(
  desk: ApprovalDesk,
  id: string,
  approve: boolean,
  draft: (approval: Approval) => AuditDraft | undefined,
): Promise<Decision> {
  const { db, registry, by } = desk;
  const [approval] = await listApprovals(desk, { id, ...(by && { tenant: by.tenant }) });
  const tool = approval && registry.get(approval.operation);
  if (!approval || !tool?.performs) return { state: 'gone' };
  const { performs: write, author: authored, emits: receipts } = tool;
  const remote = authored ? desk.remote : undefined;
  const recorded = draft(approval);
  const asked = {
    ...{ approval, approve, attempt: randomUUID(), view: write.about[1], draft: recorded, by },
    kind: { write, authored, receipts, remote: reservesFor(remote) },
  };
  for (let attempt = 1; ; attempt++) {
    const authority = await loadAskedAuthority(db, id);
    const decision = await storeDecision(db, { ...asked, authority }).catch((error: unknown) => {
      if (!(error instanceof StaleAuthority) || attempt === ATTEMPTS) throw error;
    });
    if (!decision) continue;
    // As gateway.decide_approval inserts it.
    const isMade = 'outcome' in decision ? !('refused' in decision.outcome) : MADE.includes(decision.state);
    if (recorded && isMade) recorded.inserted = true;
    if (decision.state !== 'reserved') return endingOf(decision);
    if (!remote) throw new Error(`${approval.operation} is reserved for no other system`);
    const { author, command, epoch } = decision;
    const work = { operationId: id, website: approval.website_id, author, command };
    return endingOf(await performReserved(db, remote, work, { epoch, attempt: asked.attempt, receipts }));
  }
}

type Ended = Exclude<Awaited<ReturnType<typeof storeDecision>>, { readonly state: 'reserved' }>;

function endingOf(ended: Ended | Awaited<ReturnType<typeof performReserved>>): Decision {
  if (ended.state === 'unknown') return { state: 'performed', status: 'outcome_unknown' };
  if (!('outcome' in ended)) return ended;
  const { outcome } = ended;
  if ('refused' in outcome) return { state: 'refused', code: outcome.refused };
  return {
    state: 'performed',
    status: 'acknowledged',
    ...('rejected' in outcome && { rejected: outcome.rejected }),
  };
}
