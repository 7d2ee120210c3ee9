import { sql } from '../../core/sql.ts';
import { atPrimary, hex, mayEnter } from '../calls/guard.ts';
import type { Database } from '../driver/postgres.ts';

/** One of the organizations to which a signed-in person belongs. The person has a record of its own in each of them. */
export interface Membership {
  /** Id of the person's record in this organization. */
  readonly person: string;
  readonly organization: string;
  readonly organization_id: string;
}

/** Returns the memberships with these digests, oldest record first. Leaves out people whom the console no longer lets in. */
export const readMemberships = (
  db: Database,
  digests: readonly Uint8Array[],
): Promise<(Membership & { readonly digest: Uint8Array })[]> =>
  db.read(sql`
    SELECT s.digest, p.id AS person, o.name AS organization, o.public_id AS organization_id
      FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
      JOIN platform.organization o ON o.tenant = p.tenant
     WHERE s.digest = ANY (${atPrimary(sql`${digests.map(hex)}::bytea[]`)}::bytea[]) AND s.expires_at > now() AND ${mayEnter}
     ORDER BY p.created_at, p.id`);

/**
 * Makes the session `to` of the chosen membership `from`, and ends the other memberships in `all`. Returns false if the
 * membership has ended in the meantime, for example because the person's password has changed.
 */
export async function takeMembership(
  db: Database,
  { from, all, to, seconds }: { from: Uint8Array; all: readonly Uint8Array[]; to: Uint8Array; seconds: number },
): Promise<boolean> {
  const rows = await db.query(sql`
    WITH taken AS (
      UPDATE gateway.session s
         SET digest = ${to}, created_at = now(),
             expires_at = now() + make_interval(secs => ${seconds}::double precision)
        FROM gateway.person p
       WHERE s.digest = ${from} AND s.expires_at > now() AND p.id = s.person_id AND ${mayEnter}
      RETURNING 1 AS one
    ), ended AS (
      DELETE FROM gateway.session WHERE digest = ANY (${all.map(hex)}::bytea[]) AND digest <> ${from}
    ) SELECT one FROM taken`);
  return rows.length > 0;
}

export async function endMemberships(db: Database, digests: readonly Uint8Array[]): Promise<void> {
  await db.query(sql`DELETE FROM gateway.session WHERE digest = ANY (${digests.map(hex)}::bytea[])`);
}
