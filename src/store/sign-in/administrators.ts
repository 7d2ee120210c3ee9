import { runFor, sql } from '../../core/sql.ts';
import { isFresh } from '../administration/administrator.ts';
import type { Role } from '../administration/people.ts';
import { atPrimary, mayEnter } from '../calls/guard.ts';
import type { Database } from '../driver/postgres.ts';
import type { Person } from './sessions.ts';

/** A signed-in owner, admin or approver, as the console shows the person. An approver has the role operator. */
export interface AdministratorRecord extends Omit<Person, 'role'> {
  readonly role: Role;
  readonly organization: string;
  /** True if the sign-in is recent enough for changes. */
  readonly fresh: boolean;
  /** How many writes wait for the person's approval. Counted to 1,000. */
  readonly waiting: number;
}

/** Returns undefined when the session has ended, or when the console no longer lets the person in. */
export async function readAdministrator(
  db: Database,
  { digest, network }: { digest: Uint8Array; network: string },
): Promise<AdministratorRecord | undefined> {
  const [row] = await db.read<AdministratorRecord>(
    runFor(
      network,
      sql`SELECT p.id, p.tenant, p.email, p.role, o.name AS organization, o.public_id AS organization_id, ${isFresh} AS fresh,
             (SELECT count(*)::integer FROM (SELECT FROM gateway.approval a WHERE a.tenant = p.tenant AND a.state = 'pending' AND a.command IS NOT NULL
                 AND a.requested_at > now() - interval '24 hours' AND gateway.approval_stands(a)
                 AND (p.role IN ('owner', 'admin') OR EXISTS (SELECT FROM gateway.credential c
                       WHERE c.id = a.credential_id AND c.approvers @> ARRAY[p.id])) LIMIT 1000) n) AS waiting
        FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
        JOIN platform.organization o ON o.tenant = p.tenant
       WHERE s.digest = ${atPrimary(digest)} AND s.expires_at > now() AND ${mayEnter}`,
    ),
  );
  return row;
}

/** The credential and the app that have a consent. */
export async function holderOfConsent(db: Database, consent: string): Promise<readonly string[]> {
  const [row] = await db.query<{ credential: string; app: string }>(sql`
    SELECT c.credential_id AS credential, i.app_id AS app FROM gateway.consent c
      JOIN gateway.credential r ON r.id = c.credential_id JOIN gateway.installation i ON i.id = r.installation_id
     WHERE c.id = ${consent}`);
  return row ? [row.credential, row.app] : [];
}
