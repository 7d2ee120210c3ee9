import { type Fragment, sql } from '../../core/sql.ts';
import { mayConsent } from '../administration/people.ts';
import type { Database } from '../driver/postgres.ts';

/** Questions that `gateway doctor` asks of people, consents and their tokens; see audit.ts. */
async function counted(db: Database, statement: Fragment): Promise<number> {
  const [row] = await db.query<{ count: number }>(statement);
  return row?.count ?? 0;
}

/**
 * Access tokens that could be used although what they came from has ended: the consent, or the credential's very row.
 * Those of a revoked credential are among the tokens that audit.ts counts.
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

/** Sessions, and consents that are neither revoked nor over, of people who may not consent any more. */
export const unentitledPeople = (db: Database): Promise<number> =>
  counted(
    db,
    sql`SELECT ((SELECT count(*) FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
              WHERE s.expires_at > now() AND NOT (${mayConsent}))
          + (SELECT count(*) FROM gateway.consent c JOIN gateway.person p ON p.id = c.person_id
              WHERE c.revoked_at IS NULL AND c.expires_at > now() AND NOT (${mayConsent})))::integer AS count`,
  );

/** Consents with two refresh tokens that could both be used: only one of a family ever can. */
export const splitFamilies = (db: Database): Promise<number> =>
  counted(
    db,
    sql`SELECT count(*)::integer AS count FROM (
          SELECT FROM gateway.refresh_token r WHERE r.used_at IS NULL GROUP BY r.consent_id HAVING count(*) > 1) split`,
  );
