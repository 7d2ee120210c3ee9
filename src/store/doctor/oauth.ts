import { type Fragment, sql } from '../../core/sql.ts';
import { mayConsent } from '../administration/people.ts';
import type { Database } from '../driver/postgres.ts';

async function counted(db: Database, statement: Fragment): Promise<number> {
  const [row] = await db.query<{ count: number }>(statement);
  return row?.count ?? 0;
}

/**
 * Counts usable access tokens whose consent has ended or whose credential no longer exists. doctor.ts counts the tokens
 * of revoked credentials.
 */
export const outlivingTokens = (db: Database): Promise<number> =>
  counted(
    db,
    sql`SELECT count(*)::integer AS count
          FROM gateway.token t
          LEFT JOIN gateway.consent c ON c.id = t.consent_id
          LEFT JOIN gateway.credential k ON k.id = t.credential_id
         WHERE t.kind = 'access' AND t.revoked_at IS NULL AND t.expires_at > now()
           AND (k.id IS NULL OR (t.consent_id IS NOT NULL
                AND (c.id IS NULL OR c.revoked_at IS NOT NULL OR c.expires_at <= now() OR c.credential_id <> t.credential_id)))`,
  );

export const unentitledPeople = (db: Database): Promise<number> =>
  counted(
    db,
    sql`SELECT ((SELECT count(*) FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
              WHERE s.expires_at > now() AND NOT (${mayConsent}))
          + (SELECT count(*) FROM gateway.consent c JOIN gateway.person p ON p.id = c.person_id
              WHERE c.revoked_at IS NULL AND c.expires_at > now() AND NOT (${mayConsent})))::integer AS count`,
  );

/** Counts consents with several usable refresh tokens. A consent may have only one. */
export const splitFamilies = (db: Database): Promise<number> =>
  counted(
    db,
    sql`SELECT count(*)::integer AS count FROM (
          SELECT FROM gateway.refresh_token r WHERE r.used_at IS NULL GROUP BY r.consent_id HAVING count(*) > 1) split`,
  );
