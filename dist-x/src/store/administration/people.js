import { sql } from '../../core/sql.js';
import { mayConsent, mayEnter } from '../calls/guard.js';
import { door, mentions, readPage, where, within, } from './administrator.js';
export const ROLES = ['owner', 'admin', 'operator'];
const view = (of) => sql `
  SELECT p.id, p.tenant, o.public_id AS organization_id, p.email, p.role,
         CASE WHEN p.disabled_at IS NULL THEN 'active' ELSE 'disabled' END AS state,
         p.password IS NOT NULL AS password, p.subject IS NOT NULL AS identity, p.disabled_at, p.created_at
    FROM ${of} p JOIN platform.organization o ON o.tenant = p.tenant`;
/**
 * SQL condition: the administrator may change a person of this id and role. Nobody changes their own record, so an
 * organization never loses its last owner or admin in the console. Only an owner makes, changes or disables an owner.
 */
const mayChange = (by, id, role) => where(by, sql `door.person <> ${id} AND (door.role = 'owner' OR ${role} <> 'owner')`);
/**
 * Inserts a person. Returns undefined when the organization already has a person with that e-mail address, or when the
 * administrator may not add this person.
 */
export async function insertPerson(db, person, by) {
    const { id, tenant, email, role, password } = person;
    const [row] = await db.query(sql `
    WITH ${door(by)}made AS (
      INSERT INTO gateway.person (id, tenant, email, role, password)
      SELECT ${id}::text, ${tenant}::bigint, ${email}::text, ${role}::text, ${password}::text
       WHERE ${within(by, sql `${tenant}::bigint`)} AND ${mayChange(by, sql `''`, sql `${role}::text`)}
      ON CONFLICT (tenant, email) DO NOTHING RETURNING *
    ) ${view(sql `made`)}`);
    return row;
}
export async function readPeople(db, filter = {}) {
    const { id = null, tenant = null } = filter;
    return db.query(sql `
    ${view(sql `gateway.person`)}
     WHERE (${id}::text IS NULL OR p.id = ${id}) AND (${tenant}::bigint IS NULL OR p.tenant = ${tenant})
     ORDER BY p.created_at, p.id`);
}
/** Finds people by id or e-mail address. An e-mail address can belong to several people in different organizations. */
export const findPeople = (db, refs, tenant) => db.query(sql `
    SELECT r.ref, p.id, p.tenant, 0::bigint AS site, p.email AS name, 'organization ' || o.external_id AS of
      FROM unnest(${refs}::text[]) AS r (ref) JOIN gateway.person p ON p.id = r.ref OR p.email = lower(r.ref)
      JOIN platform.organization o ON o.tenant = p.tenant
     WHERE ${tenant ?? null}::bigint IS NULL OR p.tenant = ${tenant ?? null}
     ORDER BY p.tenant, p.id`);
/** One page of the people in the administrator's organization. */
export const pageOfPeople = (db, by, { id = null, role = null, state = null, text = null, signedIn = null }, slice) => readPage(db, by, sql `SELECT w.*, n.signed_in_at, w.id IN (
        SELECT unnest(c.approvers) FROM gateway.credential c
          JOIN gateway.installation i ON i.id = c.installation_id JOIN gateway.app a ON a.id = i.app_id
         WHERE c.revoked_at IS NULL AND ${within(by, sql `a.tenant`)}) AS approver
      FROM (${view(sql `gateway.person`)} WHERE ${within(by, sql `p.tenant`)} AND (${id}::text IS NULL OR p.id = ${id})) w
      CROSS JOIN LATERAL (SELECT max(s.created_at) AS signed_in_at FROM gateway.session s
                           WHERE s.person_id = w.id AND s.expires_at > now()) n
     WHERE (${role}::text IS NULL OR w.role = ${role}) AND (${state}::text IS NULL OR w.state = ${state})
       AND (${signedIn}::boolean IS NULL OR n.signed_in_at IS NOT NULL)
       AND ${mentions(text, [sql `w.email`])}`, slice, signedIn === null ? {} : { order: sql `r.signed_in_at DESC` });
/**
 * Disables a person and ends the person's sessions and consents. Like the functions below, returns undefined when there
 * is no such person, or when the administrator may not change this person.
 */
export const disablePerson = (db, id, by) => change(db, id, sql `disabled_at = coalesce(disabled_at, now())`, by);
export const enablePerson = (db, id, by) => change(db, id, sql `disabled_at = NULL`, by);
/** Only an owner makes another owner. `was` is the role that the administrator has seen. Another one is not replaced. */
export const setRole = (db, id, role, by, was = null) => {
    const seen = sql `(${was}::text IS NULL OR role = ${was}::text)`;
    return change(db, id, sql `role = ${role}`, by, sql `${seen} AND ${mayChange(by, sql `''`, sql `${role}::text`)}`);
};
/**
 * Sets a person's password (null: none) and ends the person's sessions. `endConsents` also ends active consents, and
 * `ended` is their number.
 */
export async function setPassword(db, id, password, { endConsents = false } = {}) {
    const [row] = await db.query(sql `
    SELECT gateway.set_password(${id}::text, ${password}::text, ${endConsents}::boolean) AS ended`);
    const [person] = await readPeople(db, { id });
    return person && row && row.ended !== null ? { person, ended: row.ended } : undefined;
}
async function change(db, id, to, by, condition = sql `true`) {
    const [row] = await db.query(sql `
    WITH ${door(by)}changed AS (
      UPDATE gateway.person SET ${to}
       WHERE id = ${id} AND ${within(by, sql `person.tenant`)}
         AND ${mayChange(by, sql `person.id`, sql `person.role`)} AND ${condition} RETURNING *
    ) ${view(sql `changed`)}`);
    return row;
}
/**
 * Finds the people with this e-mail address who may consent and have a password, oldest person first. `tenant` limits
 * the search to one organization. `organization` limits the search to the organizations with this id, external_id or
 * name. The case of a name does not count. `approvers` also finds approvers. Returns at most `most` people.
 */
export const findCandidates = (db, asked) => {
    const { tenant, email, organization = null, most, approvers } = asked;
    return db.read(sql `
    SELECT p.id, p.password, o.public_id AS organization_id FROM gateway.person p JOIN platform.organization o ON o.tenant = p.tenant
     WHERE (${tenant}::bigint IS NULL OR p.tenant = ${tenant}::bigint) AND p.email = ${email}
       AND p.password IS NOT NULL AND ${approvers ? mayEnter : mayConsent}
       AND (${organization}::text IS NULL OR o.public_id = ${organization} OR o.external_id = ${organization}
            OR lower(o.name) = lower(${organization}))
     ORDER BY p.created_at, p.id LIMIT ${most}`);
};
/**
 * Finds the people with this subject (user id) at the identity provider who may consent: at most one in an
 * organization. A null tenant searches all organizations. `approvers` also finds approvers.
 */
export const findBySubject = (db, { tenant, subject, approvers }) => db.read(sql `
    SELECT p.id FROM gateway.person p
     WHERE (${tenant}::bigint IS NULL OR p.tenant = ${tenant}::bigint) AND p.subject = ${subject} AND ${approvers ? mayEnter : mayConsent}
     ORDER BY p.created_at, p.id`);
/**
 * Links the people with this e-mail address to a subject (user id) at the identity provider, permanently. An
 * organization has at most one such person. A null tenant links the people of all organizations. Leaves out a person
 * who is linked already, and an organization where the subject is linked to another person. Returns the people whom
 * this call has linked.
 */
export const bindSubject = (db, { tenant, subject, email, approvers }) => db.query(sql `
    UPDATE gateway.person p SET subject = ${subject}
     WHERE (${tenant}::bigint IS NULL OR p.tenant = ${tenant}::bigint) AND p.email = ${email} AND p.subject IS NULL
       AND ${approvers ? mayEnter : mayConsent}
       AND NOT EXISTS (SELECT FROM gateway.person o WHERE o.tenant = p.tenant AND o.subject = ${subject})
    RETURNING p.id`);
//# sourceMappingURL=people.js.map