import { sql } from '../../core/sql.ts';
import { asMachine, MOVED_CREDENTIALS } from '../calls/moved.ts';
import type { Database } from '../driver/postgres.ts';

/**
 * Deletes rows that are no longer needed. Access tokens are deleted an hour after their end. During this hour, the
 * gateway can tell an ended token from an unknown token. Refresh tokens are deleted when their consent is revoked, or
 * an hour after it expires. Until then, replaced refresh tokens stay, because their reuse must end the consent.
 * Consents and known sign-in sources are deleted after 30 days. Expired sessions and links, and old failed sign-ins, are
 * also deleted. The salt of a replaced refresh token is deleted when the refresh can no longer be repeated.
 *
 * Changes at most `n` rows of each kind, and none of an organization that has moved away. Returns the number of changed rows of the most frequent kind.
 */
export async function purgeOAuth(db: Database, n: number): Promise<number> {
  const here = sql`${asMachine} AND credential_id NOT IN (${MOVED_CREDENTIALS})`;
  const [row] = await db.query<{ purged: number }>(sql`
    WITH t AS (
      DELETE FROM gateway.token WHERE digest IN (
        SELECT digest FROM gateway.token WHERE kind = 'access' AND expires_at < now() - interval '1 hour' AND ${here}
         ORDER BY expires_at LIMIT ${n} FOR UPDATE SKIP LOCKED) RETURNING 1
    ), e AS MATERIALIZED (
      -- The index on these two times leads to few rows, because a consent leaves the index when it is marked as purged.
      SELECT id FROM gateway.consent
       WHERE NOT purged AND least(expires_at, revoked_at) < now() AND expires_at >= now() - interval '30 days'
         AND (revoked_at IS NOT NULL OR expires_at < now() - interval '1 hour') AND ${here}
       ORDER BY least(expires_at, revoked_at) LIMIT ${n} FOR UPDATE SKIP LOCKED
    ), r AS (
      DELETE FROM gateway.refresh_token WHERE digest IN (
        SELECT r.digest FROM e JOIN gateway.refresh_token r ON r.consent_id = e.id
         LIMIT ${n} FOR UPDATE OF r SKIP LOCKED) RETURNING 1
    ), m AS (
      UPDATE gateway.consent c SET purged = true FROM e
       WHERE c.id = e.id AND NOT EXISTS (SELECT FROM gateway.refresh_token r WHERE r.consent_id = c.id) RETURNING 1
    ), c AS (
      DELETE FROM gateway.consent WHERE id IN (
        SELECT id FROM gateway.consent WHERE expires_at < now() - interval '30 days' AND ${here}
         ORDER BY expires_at LIMIT ${n} FOR UPDATE SKIP LOCKED) RETURNING 1
    ), s AS (
      DELETE FROM gateway.session WHERE digest IN (
        SELECT digest FROM gateway.session WHERE expires_at <= now()
         ORDER BY expires_at LIMIT ${n} FOR UPDATE SKIP LOCKED) RETURNING 1
    ), l AS (
      DELETE FROM gateway.sign_in_link WHERE digest IN (
        SELECT digest FROM gateway.sign_in_link WHERE expires_at <= now()
         ORDER BY expires_at LIMIT ${n} FOR UPDATE SKIP LOCKED) RETURNING 1
    ), f AS (
      DELETE FROM gateway.sign_in_failure WHERE ctid IN (
        SELECT ctid FROM gateway.sign_in_failure WHERE at < now() - interval '1 hour'
         ORDER BY at LIMIT ${n} FOR UPDATE SKIP LOCKED) RETURNING 1
    ), p AS (
      DELETE FROM gateway.sign_in_place WHERE place IN (
        SELECT place FROM gateway.sign_in_place WHERE seen_at < now() - interval '30 days'
         ORDER BY seen_at LIMIT ${n} FOR UPDATE SKIP LOCKED) RETURNING 1
    ), x AS (
      UPDATE gateway.refresh_token SET salt = NULL WHERE digest IN (
        SELECT digest FROM gateway.refresh_token r
         WHERE salt IS NOT NULL AND used_at < now() - interval '10 seconds' AND ${asMachine}
           AND (SELECT n.credential_id FROM gateway.consent n WHERE n.id = r.consent_id) NOT IN (${MOVED_CREDENTIALS})
         ORDER BY used_at LIMIT ${n} FOR UPDATE SKIP LOCKED) RETURNING 1
    )
    SELECT greatest((SELECT count(*) FROM x), (SELECT count(*) FROM t), (SELECT count(*) FROM r), (SELECT count(*) FROM m),
                    (SELECT count(*) FROM c), (SELECT count(*) FROM s), (SELECT count(*) FROM f),
                    (SELECT count(*) FROM p), (SELECT count(*) FROM l))::integer AS purged`);
  return row?.purged ?? 0;
}

/** The largest number of consents that one statement ends. 20,000 in one statement took 2.8 s (23 November 2026). */
const BATCH = 500;

/**
 * Ends the consents of clients by URL whose host is not in `hosts`, with all their tokens. Returns the number of ended
 * consents. If another replica ends some of these consents at the same time, waits until they have ended. Fails during
 * the hold of a move, because this loop ends only when no such consent is left.
 */
export async function endStrangeHosts(db: Database, hosts: readonly string[]): Promise<number> {
  for (let total = 0; ; ) {
    const [row] = await db.query<{ found: number; ended: number }>(sql`
      WITH strange AS MATERIALIZED (
        SELECT c.id FROM gateway.consent c JOIN gateway.credential k ON k.id = c.credential_id
         WHERE k.hosted_host IS NOT NULL AND k.hosted_host <> ALL (${hosts}::text[])
           AND c.idle IS NOT NULL AND c.revoked_at IS NULL AND c.expires_at > now()
           AND k.id NOT IN (${MOVED_CREDENTIALS})
         ORDER BY c.id LIMIT ${BATCH}::integer
      ), locked AS (
        SELECT c.id FROM gateway.consent c WHERE c.id IN (SELECT id FROM strange) AND c.revoked_at IS NULL
         ORDER BY c.id FOR UPDATE
      ), ended AS (
        UPDATE gateway.consent c SET revoked_at = now(), revoked_because = 'host' FROM locked WHERE c.id = locked.id
        RETURNING 1
      )
      SELECT (SELECT count(*) FROM strange)::integer AS found, (SELECT count(*) FROM ended)::integer AS ended`);
    if (!row || row.found === 0) return total;
    total += row.ended;
  }
}
