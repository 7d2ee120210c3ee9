import type { AuditDraft } from '../../core/audit.ts';
import type { Authority } from '../../core/authority.ts';
import { websiteKey } from '../../core/ids.ts';
import { empty, type Fragment, sql } from '../../core/sql.ts';
import type { View } from '../../core/view.ts';
import type { Command, Ending } from '../../core/writes.ts';
import { changed } from '../calls/guard.ts';
import { type CommandKind, leaseOf } from '../calls/ledger.ts';
import { visible } from '../calls/read.ts';
import type { Database } from '../driver/postgres.ts';
import { repeated } from '../driver/repeated.ts';
import {
  type Administrator,
  decides,
  doorOfDecision,
  type ListPage,
  mentions,
  type Nullable,
  readPage,
  type Slice,
  within,
} from './administrator.ts';

export const APPROVAL_STATES = ['pending', 'approved', 'rejected', 'lapsed'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** A write that waits for a person, or about which somebody has decided. */
export interface ApprovalRecord {
  readonly operation_id: string;
  readonly operation: string;
  readonly state: ApprovalState;
  /** `time`: nobody decided within 24 hours. `authority`: the credential changed or ended, or the consent ended. */
  readonly lapsed_because: 'time' | 'authority' | 'erased' | 'restored' | null;
  readonly organization_id: string;
  readonly tenant: string;
  readonly site: string;
  readonly website_name: string;
  /** Native id of the record that the write concerns. */
  readonly record: string;
  /** The nickname, the subject or the name of this record. Null for an approver when the wait is over. */
  readonly name: string | null;
  /** The command with its whole text. Null when the wait is over. */
  readonly command: Command | null;
  /** The name of the operator or of the team that the command names. */
  readonly assignee_name: string | null;
  readonly credential_id: string;
  /** Null if the credential is gone. */
  readonly app_id: string | null;
  readonly app_name: string | null;
  readonly client_host: string | null;
  /** The operator in whose name the credential writes on the website. */
  readonly author: string | null;
  /** The person whose consent the request had. */
  readonly email: string | null;
  readonly surface: string | null;
  readonly client_name: string | null;
  readonly client_version: string | null;
  readonly requested_at: Date;
  readonly expires_at: Date;
  readonly decided_at: Date | null;
  /** The e-mail address of the person who decided. Null: the command line, or nobody. */
  readonly decided_by: string | null;
  /** In the console: true if the person who looks may not approve the write, because it is one of their own agent. */
  readonly own?: boolean;
}

export interface ApprovalFilter {
  readonly id?: string;
  readonly tenant?: string;
  readonly state?: ApprovalState;
}

/** At most so many approvals are listed. */
const LISTED = 1_000;

/**
 * SQL condition: the person may read the text of the approval, and the name of its record as it is now. An approver may
 * only while the write waits, because the credential can have lost the record since.
 */
const legible = (by: Administrator | undefined): Fragment =>
  by ? sql`(s.state = 'pending' OR (SELECT door.role FROM door) <> 'operator')` : sql`true`;

/** SQL of the approvals. A pending one that can no longer be approved counts as lapsed. */
const records = (where: Fragment, by?: Administrator, more = empty): Fragment => sql`
    SELECT a.operation_id, a.operation, s.state, a.lapsed_because, g.public_id AS organization_id, a.tenant, a.site, a.record,
           (SELECT w.name FROM platform.website w WHERE w.tenant = a.tenant AND w.site = a.site) AS website_name,
           CASE WHEN NOT ${legible(by)} THEN NULL
                WHEN a.operation LIKE 'visitor%' THEN (SELECT v.nickname FROM platform.visitor v
                  WHERE v.tenant = a.tenant AND v.site = a.site AND v.id = a.record)
                WHEN a.operation LIKE 'conversation%' THEN (SELECT v.subject FROM platform.conversation v
                  WHERE v.tenant = a.tenant AND v.site = a.site AND v.id = a.record)
                ELSE (SELECT v.name FROM platform.ai_feature v
                  WHERE v.tenant = a.tenant AND v.site = a.site AND v.id = a.record) END AS name,
           CASE WHEN ${legible(by)} THEN a.command END AS command, a.credential_id,
           coalesce((SELECT v.name FROM platform.operator v
                      WHERE v.tenant = a.tenant AND v.site = a.site AND v.id = (a.command ->> 'operator')::bigint),
                    (SELECT v.name FROM platform.team v
                      WHERE v.tenant = a.tenant AND v.site = a.site AND v.id = (a.command ->> 'team')::bigint)) AS assignee_name,
           p.id AS app_id, p.name AS app_name, c.hosted_host AS client_host,
           (SELECT o.name FROM gateway.native_author n
              JOIN platform.operator o ON o.tenant = n.tenant AND o.site = n.site AND o.id = n.operator_id
             WHERE n.credential_id = a.credential_id AND n.tenant = a.tenant AND n.site = a.site) AS author,
           (SELECT h.email FROM gateway.consent n JOIN gateway.person h ON h.id = n.person_id WHERE n.id = a.consent_id) AS email,
           a.surface, a.client_name, a.client_version, a.requested_at, a.requested_at + interval '24 hours' AS expires_at,
           a.decided_at, (SELECT h.email FROM gateway.person h WHERE h.id = a.decided_by) AS decided_by ${more}
      FROM gateway.approval a
     CROSS JOIN LATERAL (SELECT CASE
             WHEN a.state = 'pending' AND (a.requested_at <= now() - interval '24 hours' OR NOT gateway.approval_stands(a))
             THEN 'lapsed' ELSE a.state END AS state) s
      JOIN platform.organization g ON g.tenant = a.tenant
      LEFT JOIN gateway.credential c ON c.id = a.credential_id
      LEFT JOIN gateway.installation i ON i.id = c.installation_id
      LEFT JOIN gateway.app p ON p.id = i.app_id
     WHERE ${where}`;

/** The approvals, the newest first. */
export const readApprovals = (db: Database, { id = '', tenant, state }: ApprovalFilter): Promise<ApprovalRecord[]> =>
  db.read<ApprovalRecord>(sql`
    ${records(sql`(${id} = '' OR a.operation_id = ${id}) AND (${tenant ?? null}::bigint IS NULL OR a.tenant = ${tenant ?? null})
       AND (${state ?? null}::text IS NULL OR s.state = ${state ?? null})`)}
     ORDER BY a.requested_at DESC, a.operation_id LIMIT ${LISTED}::integer`);

export interface ApprovalSearch {
  readonly id?: string | undefined;
  readonly state?: ApprovalState | undefined;
  readonly operation?: string | undefined;
  /** Part of the name or host of the app. */
  readonly text?: string | undefined;
}

/** One page of the approvals about which the person may decide: those that wait, then the others, the newest first. */
export const pageOfApprovals = (
  db: Database,
  by: Administrator,
  { id = null, state = null, operation = null, text = null }: Nullable<ApprovalSearch>,
  slice: Slice,
): Promise<ListPage<ApprovalRecord>> =>
  readPage(
    db,
    by,
    sql`SELECT w.*, w.operation_id AS id, w.requested_at AS created_at FROM (${records(
      sql`
        ${within(by, sql`a.tenant`)} AND ${decides(by)} AND (${id}::text IS NULL OR a.operation_id = ${id})
        AND ${state === 'pending' ? sql`a.state = 'pending'` : sql`true`}
        AND (${state}::text IS NULL OR s.state = ${state}) AND (${operation}::text IS NULL OR a.operation = ${operation})
        AND ${mentions(text, [sql`coalesce(p.name, '')`, sql`coalesce(c.hosted_host, '')`])}`,
      by,
      sql`, a.state = 'pending' AS open, coalesce(a.decided_at, a.requested_at) AS moment,
          gateway.is_own_write(a, ${by.personId}) AS own`,
    )}) w`,
    slice,
    { order: sql`r.open DESC, r.moment DESC`, long: true, approvers: true },
  );

/** The answer of gateway.decide_approval. */
export type StoredDecision =
  | { readonly state: 'gone' | 'lapsed' | 'rejected' | 'own' }
  | { readonly state: 'decided'; readonly approval: ApprovalState }
  | { readonly state: 'new' | 'refused'; readonly outcome: Ending }
  | { readonly state: 'reserved'; readonly epoch: number; readonly author: string; readonly command: Command };

export interface DecisionAsked {
  readonly approval: Pick<ApprovalRecord, 'operation_id' | 'tenant' | 'site' | 'record'>;
  readonly approve: boolean;
  /** A random UUID of this decision. A repeated statement finds its own earlier effect by it. */
  readonly attempt: string;
  readonly kind: CommandKind;
  readonly view: View;
  /** The rights of the request, as they are now. Undefined if the credential is gone. */
  readonly authority: Authority | undefined;
  readonly draft: AuditDraft | undefined;
  /** Undefined for the command line. */
  readonly by?: Administrator | undefined;
}

/**
 * Decides about a pending write, in one statement with the effect. Throws StaleAuthority if the authority of the write
 * ended meanwhile, and has then changed nothing.
 */
export async function storeDecision(db: Database, asked: DecisionAsked): Promise<StoredDecision> {
  const { approval, approve, attempt, kind, view, authority, draft, by } = asked;
  const { write, authored, receipts, remote } = kind;
  const website = websiteKey(approval.tenant, approval.site);
  const seen = authority?.websites.has(website.id)
    ? sql`coalesce(${visible({ authority, website }, view, sql`${approval.record}::bigint`)}, false)`
    : sql`false`;
  const [row] = await repeated((n) =>
    changed<{ decision: StoredDecision }>(
      db,
      sql`${doorOfDecision(by)} SELECT gateway.decide_approval(
        ${approval.operation_id}, ${approve}::boolean, ${by?.personId ?? null}::text, ${attempt}::uuid, ${write.writer}, ${authored}::boolean,
        ${receipts}::text[], ${leaseOf(remote, website)}, ${seen}, ${draft ? JSON.stringify(draft.members) : 'null'}::text::jsonb,
        ${n > 1}::boolean) AS decision
        FROM gateway.approval a LEFT JOIN gateway.credential c ON c.id = a.credential_id
       WHERE a.operation_id = ${approval.operation_id} AND ${within(by, sql`a.tenant`)} AND ${decides(by)}`,
    ),
  );
  return row?.decision ?? { state: 'gone' };
}
