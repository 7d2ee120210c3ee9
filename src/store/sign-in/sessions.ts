import { sql } from '../../core/sql.ts';
import type { PersonRecord, Role } from '../administration/people.ts';
import { atPrimary, mayConsent, mayEnter } from '../calls/guard.ts';
import type { Database } from '../driver/postgres.ts';

export interface Person extends Pick<PersonRecord, 'id' | 'tenant' | 'email' | 'organization_id'> {
  readonly role: Exclude<Role, 'operator'>;
}

const SESSIONS = 20;

/**
 * Makes a session that lasts `seconds`. Returns the public id of the person's organization. Returns undefined when the
 * person was disabled or lost the role in the meantime, or when the verified password is no longer the person's
 * password. A share lock on the person makes sure that such a change comes either before the session or after it. The
 * lists of approvers change under this lock, too.
 *
 * A person has at most twenty sessions. A new session ends the oldest session.
 */
export async function createSession(
  db: Database,
  session: { digest: Uint8Array; person: string; seconds: number; password?: string },
): Promise<string | undefined> {
  const { digest, person, seconds, password = null } = session;
  const [row] = await db.query<{ organization_id: string }>(sql`
    WITH who AS (
      SELECT p.id, p.tenant FROM gateway.person p
       WHERE p.id = ${person} AND ${mayEnter} AND (${password}::text IS NULL OR p.password = ${password}) FOR SHARE
    ), oldest AS (
      DELETE FROM gateway.session WHERE digest IN (
        SELECT s.digest FROM who JOIN gateway.session s ON s.person_id = who.id
         ORDER BY s.created_at DESC OFFSET ${SESSIONS - 1}::integer)
    )
    INSERT INTO gateway.session (digest, person_id, expires_at)
    SELECT ${digest}::bytea, who.id, now() + make_interval(secs => ${seconds}::double precision) FROM who
     WHERE gateway.still_enters(who.id)
    RETURNING (SELECT o.public_id FROM who JOIN platform.organization o ON o.tenant = who.tenant) AS organization_id`);
  return row?.organization_id;
}

/**
 * Returns the person of a session. Returns undefined when the session has ended, or when the person is disabled or no
 * longer owner or admin.
 */
export async function personOf(db: Database, digest: Uint8Array): Promise<Person | undefined> {
  const [row] = await db.read<Person>(sql`
    SELECT p.id, p.tenant, p.email, p.role, o.public_id AS organization_id
      FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
      JOIN platform.organization o ON o.tenant = p.tenant
     WHERE s.digest = ${atPrimary(digest)} AND s.expires_at > now() AND ${mayConsent}`);
  return row;
}

/** Ends a session. Returns the ids of its person and organization, or undefined when there was no session. */
export async function endSession(
  db: Database,
  digest: Uint8Array,
): Promise<{ readonly person: string; readonly organization_id: string } | undefined> {
  const [row] = await db.query<{ person: string; organization_id: string }>(sql`
    DELETE FROM gateway.session s USING gateway.person p, platform.organization o
     WHERE s.digest = ${digest} AND p.id = s.person_id AND o.tenant = p.tenant
    RETURNING p.id AS person, o.public_id AS organization_id`);
  return row;
}

export interface SignInLimits {
  /** Seconds for which a failed sign-in counts. */
  readonly window: number;
  /**
   * The most failed sign-ins from one source in the time `window`. `perAccount`: for each account. `perSource`: for all
   * accounts together.
   */
  readonly perAccount: number;
  readonly perSource: number;
}

/** An attempt to sign in that was admitted. The attempt counts as failed until it succeeds or is forgotten. */
export interface Attempt {
  readonly source: string;
  readonly account: Uint8Array;
  /**
   * The time of the attempt in PostgreSQL's own text. The text is sent back unchanged, because a JavaScript Date is
   * less precise.
   */
  readonly recorded: string;
}

/** Admits an attempt to sign in, or returns the seconds to wait (03_sign_in.sql). */
export async function beginSignIn(
  db: Database,
  { source, account }: { source: string; account: Uint8Array },
  { window, perAccount, perSource }: SignInLimits,
): Promise<Attempt | { wait: number }> {
  const [row] = await db.query<{ recorded: string | null; wait: number | null }>(sql`
    SELECT b.recorded::text AS recorded, b.wait
      FROM gateway.begin_sign_in(${source}::text, ${account}::bytea, make_interval(secs => ${window}::double precision),
                                 ${perAccount}::integer, ${perSource}::integer) b`);
  return row?.recorded ? { source, account, recorded: row.recorded } : { wait: row?.wait ?? window };
}

/** Forgets an attempt to sign in whose password could not be checked. */
export async function forgetAttempt(db: Database, { source, account, recorded }: Attempt): Promise<void> {
  await db.query(sql`
    DELETE FROM gateway.sign_in_failure
     WHERE source = ${source} AND account = ${account} AND at = ${recorded}::text::timestamptz`);
}

/** Forgets all failed sign-ins of an account. Returns their number, which includes failures that no longer count. */
export async function forgetFailures(db: Database, account: Uint8Array): Promise<number> {
  const gone = await db.query(sql`DELETE FROM gateway.sign_in_failure WHERE account = ${account} RETURNING 1 AS one`);
  return gone.length;
}

/**
 * Records a successful sign-in, and remembers that the account has signed in from this source. Takes this attempt back.
 * `forgetFailures` also forgets this account's failed attempts from this source.
 */
export async function rememberSignIn(
  db: Database,
  { source, account, recorded }: Attempt,
  { forgetFailures }: { forgetFailures: boolean },
): Promise<void> {
  await db.query(sql`
    WITH forgotten AS (
      DELETE FROM gateway.sign_in_failure
       WHERE source = ${source} AND account = ${account} AND (${forgetFailures}::boolean OR at = ${recorded}::text::timestamptz)
    )
    INSERT INTO gateway.sign_in_place (place) VALUES (gateway.sign_in_place(${source}::text, ${account}::bytea))
    ON CONFLICT (place) DO UPDATE SET seen_at = now()`);
}
