import { type Fragment, sql } from '../../core/sql.ts';
import { mayConsent, mayEnter, maySignIn } from '../calls/guard.ts';
import type { Database } from '../driver/postgres.ts';
import { repeated } from '../driver/repeated.ts';
import {
  type Administrator,
  door,
  type ListPage,
  mentions,
  type Nullable,
  readPage,
  type Slice,
  where,
  within,
} from './administrator.ts';
import type { Candidate } from './references.ts';

/** A person who can sign in to the consent page. The record has no password hash. */
export interface PersonRecord {
  readonly id: string;
  readonly tenant: string;
  /** The public id of the organization. */
  readonly organization_id: string;
  readonly email: string;
  readonly role: Role;
  readonly state: 'active' | 'disabled';
  readonly password: boolean;
  /** True when the person has signed in through the identity provider. */
  readonly identity: boolean;
  readonly disabled_at: Date | null;
  readonly created_at: Date;
}

export const ROLES = ['owner', 'admin', 'operator'] as const;
export type Role = (typeof ROLES)[number];

const view = (of: Fragment): Fragment => sql`
  SELECT p.id, p.tenant, o.public_id AS organization_id, p.email, p.role,
         CASE WHEN p.disabled_at IS NULL THEN 'active' ELSE 'disabled' END AS state,
         p.password IS NOT NULL AS password, p.subject IS NOT NULL AS identity, p.disabled_at, p.created_at
    FROM ${of} p JOIN platform.organization o ON o.tenant = p.tenant`;

/**
 * SQL condition: the administrator may change a person of this id and role. Nobody changes their own record, so an
 * organization never loses its last owner or admin in the console. Only an owner makes, changes or disables an owner.
 */
const mayChange = (by: Administrator | undefined, id: Fragment, role: Fragment): Fragment =>
  where(by, sql`door.person <> ${id} AND (door.role = 'owner' OR ${role} <> 'owner')`);

/**
 * Inserts a person. Returns undefined when the organization already has a person with that e-mail address, or when the
 * administrator may not add this person.
 */
export async function insertPerson(
  db: Database,
  person: { id: string; tenant: string; email: string; role: Role; password: string | null },
  by?: Administrator,
): Promise<PersonRecord | undefined> {
  const { id, tenant, email, role, password } = person;
  const [row] = await db.query<PersonRecord>(sql`
    WITH ${door(by)}made AS (
      INSERT INTO gateway.person (id, tenant, email, role, password)
      SELECT ${id}::text, ${tenant}::bigint, ${email}::text, ${role}::text, ${password}::text
       WHERE ${within(by, sql`${tenant}::bigint`)} AND ${mayChange(by, sql`''`, sql`${role}::text`)}
      ON CONFLICT (tenant, email) DO NOTHING RETURNING *
    ) ${view(sql`made`)}`);
  return row;
}

export async function readPeople(db: Database, filter: { id?: string; tenant?: string } = {}): Promise<PersonRecord[]> {
  const { id = null, tenant = null } = filter;
  return db.query<PersonRecord>(sql`
    ${view(sql`gateway.person`)}
     WHERE (${id}::text IS NULL OR p.id = ${id}) AND (${tenant}::bigint IS NULL OR p.tenant = ${tenant})
     ORDER BY p.created_at, p.id`);
}

/** Finds people by id or e-mail address. An e-mail address can belong to several people in different organizations. */
export const findPeople = (db: Database, refs: readonly string[], tenant?: string): Promise<Candidate[]> =>
  db.query<Candidate>(sql`
    SELECT r.ref, p.id, p.tenant, 0::bigint AS site, p.email AS name, 'organization ' || o.external_id AS of
      FROM unnest(${refs}::text[]) AS r (ref) JOIN gateway.person p ON p.id = r.ref OR p.email = lower(r.ref)
      JOIN platform.organization o ON o.tenant = p.tenant
     WHERE ${tenant ?? null}::bigint IS NULL OR p.tenant = ${tenant ?? null}
     ORDER BY p.tenant, p.id`);

export interface PersonSearch {
  readonly id?: string | undefined;
  readonly role?: Role | undefined;
  readonly state?: PersonRecord['state'] | undefined;
  /** Part of the e-mail address. */
  readonly text?: string | undefined;
  /** Only people with a session that lasts. The newest sign-in comes first. */
  readonly signedIn?: true;
}

/** A person with the time of the newest sign-in whose session still lasts. */
export interface PersonSummary extends PersonRecord {
  readonly signed_in_at: Date | null;
  /** True if a credential names the person as its approver. */
  readonly approver: boolean;
}

/** One page of the people in the administrator's organization. */
export const pageOfPeople = (
  db: Database,
  by: Administrator,
  { id = null, role = null, state = null, text = null, signedIn = null }: Nullable<PersonSearch>,
  slice: Slice,
): Promise<ListPage<PersonSummary>> =>
  readPage(
    db,
    by,
    sql`SELECT w.*, n.signed_in_at, w.id IN (
        SELECT unnest(c.approvers) FROM gateway.credential c
          JOIN gateway.installation i ON i.id = c.installation_id JOIN gateway.app a ON a.id = i.app_id
         WHERE c.revoked_at IS NULL AND ${within(by, sql`a.tenant`)}) AS approver
      FROM (${view(sql`gateway.person`)} WHERE ${within(by, sql`p.tenant`)} AND (${id}::text IS NULL OR p.id = ${id})) w
      CROSS JOIN LATERAL (SELECT max(s.created_at) AS signed_in_at FROM gateway.session s
                           WHERE s.person_id = w.id AND s.expires_at > now()) n
     WHERE (${role}::text IS NULL OR w.role = ${role}) AND (${state}::text IS NULL OR w.state = ${state})
       AND (${signedIn}::boolean IS NULL OR n.signed_in_at IS NOT NULL)
       AND ${mentions(text, [sql`w.email`])}`,
    slice,
    signedIn === null ? {} : { order: sql`r.signed_in_at DESC` },
  );

/**
 * Disables a person and ends the person's sessions and consents. Like the functions below, returns undefined when there
 * is no such person, or when the administrator may not change this person.
 */
export const disablePerson = (db: Database, id: string, by?: Administrator): Promise<PersonRecord | undefined> =>
  change(db, id, sql`disabled_at = coalesce(disabled_at, now())`, by);

export const enablePerson = (db: Database, id: string, by?: Administrator): Promise<PersonRecord | undefined> =>
  change(db, id, sql`disabled_at = NULL`, by);

/** Only an owner makes another owner. `was` is the role that the administrator has seen. Another one is not replaced. */
export const setRole = (
  db: Database,
  id: string,
  role: Role,
  by?: Administrator,
  was: string | null = null,
): Promise<PersonRecord | undefined> => {
  const seen = sql`(${was}::text IS NULL OR role = ${was}::text)`;
  return change(db, id, sql`role = ${role}`, by, sql`${seen} AND ${mayChange(by, sql`''`, sql`${role}::text`)}`);
};

/**
 * Sets a person's password (null: none) and ends the person's sessions. `endConsents` also ends active consents, and
 * `ended` is their number.
 */
export async function setPassword(
  db: Database,
  id: string,
  password: string | null,
  { endConsents = false }: { endConsents?: boolean } = {},
): Promise<{ person: PersonRecord; ended: number } | undefined> {
  const [row] = await db.query<{ ended: number | null }>(sql`
    SELECT gateway.set_password(${id}::text, ${password}::text, ${endConsents}::boolean) AS ended`);
  const [person] = await readPeople(db, { id });
  return person && row && row.ended !== null ? { person, ended: row.ended } : undefined;
}

async function change(
  db: Database,
  id: string,
  to: Fragment,
  by: Administrator | undefined,
  condition = sql`true`,
): Promise<PersonRecord | undefined> {
  const statement = sql`
    WITH ${door(by)}changed AS (
      UPDATE gateway.person SET ${to}
       WHERE id = ${id} AND ${within(by, sql`person.tenant`)}
         AND ${mayChange(by, sql`person.id`, sql`person.role`)} AND ${condition} RETURNING *
    ) ${view(sql`changed`)}`;
  // Two administrators who change each other wait for each other. PostgreSQL ends one of the two statements. A second
  // attempt then finds what the other has changed.
  const [row] = await repeated(() => db.query<PersonRecord>(statement), false);
  return row;
}

/**
 * Finds the people with this e-mail address who may consent and have a password, oldest person first. `tenant` limits
 * the search to one organization. `organization` limits the search to the organizations with this id, external_id or
 * name. The case of a name does not count. Also finds people whose organization has moved to another cell. `approvers` also finds approvers. Returns at most `most` people.
 */
export const findCandidates = (
  db: Database,
  asked: { tenant: string | null; email: string; organization: string | undefined; most: number; approvers: boolean },
): Promise<
  {
    readonly id: string;
    readonly password: string;
    readonly organization_id: string;
    readonly moved_to: string | null;
  }[]
> => {
  const { tenant, email, organization = null, most } = asked;
  return db.read(sql`
    SELECT p.id, p.password, o.public_id AS organization_id, o.moved_to
      FROM gateway.person p JOIN platform.organization o ON o.tenant = p.tenant
     WHERE (${tenant}::bigint IS NULL OR p.tenant = ${tenant}::bigint) AND p.email = ${email}
       AND p.password IS NOT NULL AND ${maySignIn(asked)}
       AND (${organization}::text IS NULL OR o.public_id = ${organization} OR o.external_id = ${organization}
            OR lower(o.name) = lower(${organization}))
     ORDER BY p.created_at, p.id LIMIT ${most}`);
};

/**
 * Finds the people with this subject (user id) at the identity provider who may consent: at most one in an
 * organization. In an organization that has moved to another cell, also finds a person with this e-mail address who is
 * not linked yet. A null tenant searches all organizations. `approvers` also finds approvers.
 */
export const findBySubject = (
  db: Database,
  asked: { tenant: string | null; subject: string; email: string | null; approvers: boolean },
): Promise<{ readonly id: string; readonly moved_to: string | null }[]> =>
  db.read(sql`
    SELECT p.id, o.moved_to FROM gateway.person p JOIN platform.organization o ON o.tenant = p.tenant
     WHERE (${asked.tenant}::bigint IS NULL OR p.tenant = ${asked.tenant}::bigint) AND ${maySignIn(asked)}
       AND (p.subject = ${asked.subject}
            OR p.subject IS NULL AND p.email = ${asked.email}::text AND o.moved_to IS NOT NULL)
     ORDER BY p.created_at, p.id`);

/**
 * Links the people with this e-mail address to a subject (user id) at the identity provider, permanently. An
 * organization has at most one such person. A null tenant links the people of all organizations. Leaves out a person
 * who is linked already, and an organization where the subject is linked to another person. Returns the people whom
 * this call has linked.
 */
export const bindSubject = (
  db: Database,
  { tenant, subject, email, approvers }: { tenant: string | null; subject: string; email: string; approvers: boolean },
): Promise<{ readonly id: string }[]> =>
  db.query(sql`
    UPDATE gateway.person p SET subject = ${subject}
     WHERE (${tenant}::bigint IS NULL OR p.tenant = ${tenant}::bigint) AND p.email = ${email} AND p.subject IS NULL
       AND ${approvers ? mayEnter : mayConsent}
       AND NOT EXISTS (SELECT FROM gateway.person o WHERE o.tenant = p.tenant AND o.subject = ${subject})
    RETURNING p.id`);
