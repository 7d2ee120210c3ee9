import { sql } from '../../core/sql.ts';
import { atPrimary, mayEnter } from '../calls/guard.ts';
import type { Database } from '../driver/postgres.ts';

/** Links of one person that work at the same time. A new link ends the oldest. */
const LINKS = 5;

/** Stores a one-time link. Returns its end, or undefined when the console does not let the person in. */
export async function insertLink(
  db: Database,
  { digest, person, seconds }: { digest: Uint8Array; person: string; seconds: number },
): Promise<Date | undefined> {
  const [row] = await db.query<{ until: Date }>(sql`
    WITH oldest AS (
      DELETE FROM gateway.sign_in_link WHERE digest IN (
        SELECT l.digest FROM gateway.sign_in_link l WHERE l.person_id = ${person}
         ORDER BY l.created_at DESC OFFSET ${LINKS - 1}::integer)
    )
    INSERT INTO gateway.sign_in_link (digest, person_id, expires_at)
    SELECT ${digest}::bytea, p.id, date_trunc('milliseconds', now() + make_interval(secs => ${seconds}::double precision))
      FROM gateway.person p WHERE p.id = ${person} AND ${mayEnter}
    RETURNING expires_at AS until`);
  return row?.until;
}

/** Returns whom the link would sign in. Does not use the link up, because browsers fetch links ahead of a click. */
export async function readLink(
  db: Database,
  digest: Uint8Array,
): Promise<{ email: string; organization: string } | undefined> {
  const [row] = await db.read<{ email: string; organization: string }>(sql`
    SELECT p.email, o.name AS organization FROM gateway.sign_in_link l JOIN gateway.person p ON p.id = l.person_id
      JOIN platform.organization o ON o.tenant = p.tenant
     WHERE l.digest = ${atPrimary(digest)} AND l.expires_at > now() AND ${mayEnter}`);
  return row;
}

/** Uses the link up and returns its person. Two uses at the same time get one answer. `works`: it has not ended. */
export async function takeLink(
  db: Database,
  digest: Uint8Array,
): Promise<{ readonly id: string; readonly organization_id: string; readonly works: boolean } | undefined> {
  const [row] = await db.query<{ id: string; organization_id: string; works: boolean }>(sql`
    DELETE FROM gateway.sign_in_link l USING gateway.person p, platform.organization o
     WHERE l.digest = ${digest} AND p.id = l.person_id AND o.tenant = p.tenant
    RETURNING p.id, o.public_id AS organization_id, l.expires_at > now() AS works`);
  return row;
}
