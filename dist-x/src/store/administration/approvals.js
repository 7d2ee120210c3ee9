import { websiteKey } from '../../core/ids.js';
import { empty, sql } from '../../core/sql.js';
import { changed } from '../calls/guard.js';
import { leaseOf } from '../calls/ledger.js';
import { visible } from '../calls/read.js';
import { repeated } from '../driver/repeated.js';
import { decides, doorOfDecision, mentions, readPage, within, } from './administrator.js';
export const APPROVAL_STATES = ['pending', 'approved', 'rejected', 'lapsed'];
/** At most so many approvals are listed. */
const LISTED = 1_000;
/**
 * SQL condition: the person may read the text of the approval, and the name of its record as it is now. An approver may
 * only while the write waits, because the credential can have lost the record since.
 */
const legible = (by) => by ? sql `(s.state = 'pending' OR (SELECT door.role FROM door) <> 'operator')` : sql `true`;
/** SQL of the approvals. A pending one that can no longer be approved counts as lapsed. */
const records = (where, by, more = empty) => sql `
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
export const readApprovals = (db, { id = '', tenant, state }) => db.read(sql `
    ${records(sql `(${id} = '' OR a.operation_id = ${id}) AND (${tenant ?? null}::bigint IS NULL OR a.tenant = ${tenant ?? null})
       AND (${state ?? null}::text IS NULL OR s.state = ${state ?? null})`)}
     ORDER BY a.requested_at DESC, a.operation_id LIMIT ${LISTED}::integer`);
/** One page of the approvals about which the person may decide: those that wait, then the others, the newest first. */
export const pageOfApprovals = (db, by, { id = null, state = null, operation = null, text = null }, slice) => readPage(db, by, sql `SELECT w.*, w.operation_id AS id, w.requested_at AS created_at FROM (${records(sql `
        ${within(by, sql `a.tenant`)} AND ${decides(by)} AND (${id}::text IS NULL OR a.operation_id = ${id})
        AND ${state === 'pending' ? sql `a.state = 'pending'` : sql `true`}
        AND (${state}::text IS NULL OR s.state = ${state}) AND (${operation}::text IS NULL OR a.operation = ${operation})
        AND ${mentions(text, [sql `coalesce(p.name, '')`, sql `coalesce(c.hosted_host, '')`])}`, by, sql `, a.state = 'pending' AS open, coalesce(a.decided_at, a.requested_at) AS moment,
          gateway.is_own_write(a, ${by.personId}) AS own`)}) w`, slice, { order: sql `r.open DESC, r.moment DESC`, long: true, approvers: true });
/**
 * Decides about a pending write, in one statement with the effect. Throws StaleAuthority if the authority of the write
 * ended meanwhile, and has then changed nothing.
 */
export async function storeDecision(db, asked) {
    const { approval, approve, attempt, kind, view, authority, draft, by } = asked;
    const { write, authored, receipts, remote } = kind;
    const website = websiteKey(approval.tenant, approval.site);
    const seen = authority?.websites.has(website.id)
        ? sql `coalesce(${visible({ authority, website }, view, sql `${approval.record}::bigint`)}, false)`
        : sql `false`;
    const [row] = await repeated((n) => changed(db, sql `${doorOfDecision(by)} SELECT gateway.decide_approval(
        ${approval.operation_id}, ${approve}::boolean, ${by?.personId ?? null}::text, ${attempt}::uuid, ${write.writer}, ${authored}::boolean,
        ${receipts}::text[], ${leaseOf(remote, website)}, ${seen}, ${draft ? JSON.stringify(draft.members) : 'null'}::text::jsonb,
        ${n > 1}::boolean) AS decision
        FROM gateway.approval a LEFT JOIN gateway.credential c ON c.id = a.credential_id
       WHERE a.operation_id = ${approval.operation_id} AND ${within(by, sql `a.tenant`)} AND ${decides(by)}`));
    return row?.decision ?? { state: 'gone' };
}
//# sourceMappingURL=approvals.js.map