import { runFor, sql } from '../../core/sql.ts';
import { isFresh } from '../administration/administrator.ts';
import { atPrimary, mayConsent } from '../calls/guard.ts';
import type { Database } from '../driver/postgres.ts';
import type { Person } from './sessions.ts';

/** A signed-in owner or admin, as the console shows the person. */
export interface AdministratorRecord extends Person {
  readonly organization: string;
  /** The public id of the organization. */
  readonly organization_id: string;
  /** True if the sign-in is recent enough for changes. */
  readonly fresh: boolean;
  /** How many writes wait for an approval. Counted to 1,000. */
  readonly waiting: number;
}

/** Returns undefined when the session has ended, or when the person is disabled or no longer owner or admin. */
export async function readAdministrator(
  db: Database,
  { digest, network }: { digest: Uint8Array; network: string },
): Promise<AdministratorRecord | undefined> {
  const [row] = await db.read<AdministratorRecord>(
    runFor(
      network,
      sql`SELECT p.id, p.tenant, p.email, p.role, o.name AS organization, o.public_id AS organization_id, ${isFresh} AS fresh,
             (SELECT count(*)::integer FROM (SELECT FROM gateway.approval a WHERE a.tenant = p.tenant AND a.state = 'pending' AND a.command IS NOT NULL
                 AND a.requested_at > now() - interval '24 hours' AND gateway.approval_stands(a) LIMIT 1000) n) AS waiting
        FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
        JOIN platform.organization o ON o.tenant = p.tenant
       WHERE s.digest = ${atPrimary(digest)} AND s.expires_at > now() AND ${mayConsent}`,
    ),
  );
  return row;
}

/** The public id of the organization of a person. */
export async function organizationOfPerson(db: Database, person: string): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(sql`
    SELECT o.public_id AS id FROM gateway.person p JOIN platform.organization o ON o.tenant = p.tenant
     WHERE p.id = ${person}`);
  return row?.id;
}
