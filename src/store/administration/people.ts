import { type Fragment, sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';
import type { Candidate } from './references.ts';

/** A person who can sign in to the consent page, as an administrator sees the person: without the password hash. */
export interface PersonRecord {
  readonly id: string;
  readonly tenant: string;
  readonly organization_id: string;
  readonly email: string;
  readonly role: Role;
  readonly state: 'active' | 'disabled';
  /** True when the person has a password. */
  readonly password: boolean;
  /** True when the person has signed in at the identity provider. */
  readonly identity: boolean;
  readonly disabled_at: Date | null;
  readonly created_at: Date;
}

export const ROLES = ['owner', 'admin', 'operator'] as const;
export type Role = (typeof ROLES)[number];

/**
 * The SQL condition for a person who may consent: an enabled owner or admin. Every statement that signs a person in or
 * looks a signed-in person up uses this condition.
 */
export const mayConsent = sql`p.disabled_at IS NULL AND p.role IN ('owner', 'admin')`;

const view = (of: Fragment): Fragment => sql`
  SELECT p.id, p.tenant, o.public_id AS organization_id, p.email, p.role,
         CASE WHEN p.disabled_at IS NULL THEN 'active' ELSE 'disabled' END AS state,
         p.password IS NOT NULL AS password, p.subject IS NOT NULL AS identity, p.disabled_at, p.created_at
    FROM ${of} p JOIN platform.organization o ON o.tenant = p.tenant`;

/** Inserts a person. Returns undefined when the organization already has a person with that e-mail address. */
export async function insertPerson(
  db: Database,
  person: { id: string; tenant: string; email: string; role: Role; password: string | null },
): Promise<PersonRecord | undefined> {
  const { id, tenant, email, role, password } = person;
  const [row] = await db.query<PersonRecord>(sql`
    WITH made AS (
      INSERT INTO gateway.person (id, tenant, email, role, password)
      VALUES (${id}, ${tenant}::bigint, ${email}, ${role}, ${password})
      ON CONFLICT (tenant, email) DO NOTHING RETURNING *
    ) ${view(sql`made`)}`);
  return row;
}

/** Returns people in order of creation: all people, the person with the given id, or the people of one organization. */
export async function readPeople(db: Database, filter: { id?: string; tenant?: string } = {}): Promise<PersonRecord[]> {
  const { id = null, tenant = null } = filter;
  return db.query<PersonRecord>(sql`
    ${view(sql`gateway.person`)}
     WHERE (${id}::text IS NULL OR p.id = ${id}) AND (${tenant}::bigint IS NULL OR p.tenant = ${tenant})
     ORDER BY p.created_at, p.id`);
}

/** Finds people by id or e-mail address. An e-mail address is unique only within an organization. */
export const findPeople = (db: Database, refs: readonly string[], tenant?: string): Promise<Candidate[]> =>
  db.query<Candidate>(sql`
    SELECT r.ref, p.id, p.tenant, 0::bigint AS site, p.email AS name, 'organization ' || o.external_id AS of
      FROM unnest(${refs}::text[]) AS r (ref) JOIN gateway.person p ON p.id = r.ref OR p.email = lower(r.ref)
      JOIN platform.organization o ON o.tenant = p.tenant
     WHERE ${tenant ?? null}::bigint IS NULL OR p.tenant = ${tenant ?? null}
     ORDER BY p.tenant, p.id`);

/**
 * Disables a person. Sessions and consents end with the person's right to consent. Returns undefined when the person
 * does not exist.
 */
export const disablePerson = (db: Database, id: string): Promise<PersonRecord | undefined> =>
  change(db, id, sql`disabled_at = coalesce(disabled_at, now())`);

export const enablePerson = (db: Database, id: string): Promise<PersonRecord | undefined> =>
  change(db, id, sql`disabled_at = NULL`);

export const setRole = (db: Database, id: string, role: Role): Promise<PersonRecord | undefined> =>
  change(db, id, sql`role = ${role}`);

/**
 * Sets a person's password. Null ends sign-in with a password. A change ends the person's sessions. With `endConsents`,
 * the person's consents also end. `ended` is the number of active consents that ended.
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

async function change(db: Database, id: string, to: Fragment): Promise<PersonRecord | undefined> {
  const [row] = await db.query<PersonRecord>(sql`
    WITH changed AS (UPDATE gateway.person SET ${to} WHERE id = ${id} RETURNING *) ${view(sql`changed`)}`);
  return row;
}

/** The data that a sign-in needs about the named person. */
export interface SignInRow {
  readonly id: string;
  /** The hashed password as a PHC string. Null when the person has no password. */
  readonly password: string | null;
  readonly may_consent: boolean;
}

export async function findForSignIn(
  db: Database,
  { tenant, email }: { tenant: string; email: string },
): Promise<SignInRow | undefined> {
  const [row] = await db.read<SignInRow>(sql`
    SELECT p.id, p.password, ${mayConsent} AS may_consent
      FROM gateway.person p WHERE p.tenant = ${tenant} AND p.email = ${email}`);
  return row;
}

/**
 * Returns the id of the person with the given subject at the identity provider. Returns undefined when no such person
 * may consent.
 */
export async function findBySubject(
  db: Database,
  { tenant, subject }: { tenant: string; subject: string },
): Promise<string | undefined> {
  const [row] = await db.read<{ id: string }>(sql`
    SELECT p.id FROM gateway.person p WHERE p.tenant = ${tenant} AND p.subject = ${subject} AND ${mayConsent}`);
  return row?.id;
}

/**
 * Binds the person with the given e-mail address to a subject of the identity provider, once and permanently. Returns
 * undefined when there is no unbound person with that address. Also returns undefined when the subject belongs to
 * another person.
 */
export async function bindSubject(
  db: Database,
  { tenant, subject, email }: { tenant: string; subject: string; email: string },
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(sql`
    UPDATE gateway.person p SET subject = ${subject}
     WHERE p.tenant = ${tenant} AND p.email = ${email} AND p.subject IS NULL AND ${mayConsent}
       AND NOT EXISTS (SELECT FROM gateway.person o WHERE o.tenant = ${tenant} AND o.subject = ${subject})
    RETURNING p.id`);
  return row?.id;
}
