import type { Resource } from '../../core/authority.ts';
import type { DataAccess, Scope } from '../../core/scopes.ts';
import { raw, runFor, sql } from '../../core/sql.ts';
import { mayConsent } from '../administration/people.ts';
import type { Database } from '../driver/postgres.ts';

export interface Client {
  readonly id: string;
  readonly revision: number;
  readonly environment: 'live' | 'test';
  readonly tenant: string;
  readonly organization: string;
  readonly app: string;
  readonly scopes: Scope[];
  readonly dataAccess: DataAccess[];
  readonly restricted: boolean;
  readonly callbacks: string[];
  readonly websites: readonly { id: string; site: string; name: string; timeZone: string }[];
  readonly secretDigest: Uint8Array;
  /**
   * The digest of the secret before the last rotation. Null when that secret is no longer accepted. Each statement
   * checks again whether that secret is accepted.
   */
  readonly oldSecretDigest: Uint8Array | null;
}

/**
 * Loads the OAuth client of an active credential. A credential of a hosted client is no OAuth client (hosted.ts).
 * `network` is the caller's network. When connections are busy, the networks take turns.
 */
export async function loadClient(db: Database, id: string, network: string): Promise<Client | undefined> {
  const [row] = await db.read<Client>(
    runFor(
      network,
      sql`
    SELECT c.id, c.revision, c.environment, a.tenant, o.name AS organization, a.name AS app, c.scopes,
           c.data_access AS "dataAccess", c.callbacks, c.secret_digest AS "secretDigest",
           CASE WHEN c.old_secret_until > now() THEN c.old_secret_digest END AS "oldSecretDigest",
           (c.channel_ids IS NOT NULL OR c.team_ids IS NOT NULL OR c.subsite_ids IS NOT NULL) AS restricted,
           coalesce((SELECT jsonb_agg(jsonb_build_object('id', 'web_' || w.tenant || '_' || w.site, 'site', w.site::text,
                                                         'name', w.name, 'timeZone', w.time_zone) ORDER BY w.site)
              FROM platform.website w WHERE w.tenant = a.tenant AND w.site = ANY (c.sites)), '[]') AS websites
      FROM gateway.credential c
      JOIN gateway.installation i ON i.id = c.installation_id
      JOIN gateway.app a ON a.id = i.app_id
      JOIN platform.organization o ON o.tenant = a.tenant
     WHERE c.id = ${id} AND c.hosted_client IS NULL AND c.revoked_at IS NULL AND c.expires_at > now()`,
    ),
  );
  return row;
}

/**
 * A client that has proved its identity with the current or the previous secret, at one revision of its credential.
 * Statements check this proof again with gateway.client_proved (0009_oauth.sql).
 */
export interface Proved {
  readonly credential: string;
  readonly revision: number;
  readonly oldSecret: boolean;
}

/** The longest lifetimes in seconds. If the consent or the credential ends earlier, the store uses that earlier end. */
export const LIVES = {
  access: 900,
  code: 60,
  refreshIdle: 3_600,
  renewableConsent: 28_800,
} as const;

/**
 * Without a consent, a client gets at most 60 tokens a minute, over all replicas and by PostgreSQL's clock. This SQL
 * OFFSET finds the client's sixtieth newest token. A refusal says how long the client must wait.
 */
const SIXTIETH = raw('59');

/**
 * SQL for the tokens that credential `c` got in the last minute without a consent. The SQL takes no lock, so
 * simultaneous requests can get a few more than 60 tokens. A token from more than a minute in the future does not
 * count, because such a token was made before the clock was set back.
 */
const ofTheLastMinute = sql`
  FROM gateway.token o
 WHERE o.credential_id = c.id AND o.kind = 'access' AND o.consent_id IS NULL
   AND o.created_at > now() - interval '1 minute' AND o.created_at < now() + interval '1 minute'`;

/**
 * Issues an access token without a consent, or returns the seconds to wait. Returns undefined when the client's proof
 * no longer holds.
 */
export async function issueAccess(
  db: Database,
  proved: Proved,
  given: { digest: Uint8Array; audience: Resource; scopes: readonly Scope[]; sites: readonly string[] },
): Promise<{ expires_in: number } | { wait: number } | undefined> {
  const stands = sql`c.id = ${proved.credential} AND c.revision = ${proved.revision} AND c.revoked_at IS NULL
    AND c.expires_at > now() AND (NOT ${proved.oldSecret}::boolean OR c.old_secret_until > now())`;
  const [made] = await db.query<{ expires_in: number }>(sql`
    WITH c AS (SELECT id, expires_at FROM gateway.credential c WHERE ${stands} FOR SHARE),
    unflushed AS MATERIALIZED (
      -- Do not wait for the disk. If a crash loses a token, the client asks for a new one. A statement that ends a
      -- token does wait, until all earlier writes are on disk too. The wait cost more than half of the throughput
      -- (1,339/s against 3,234/s, 8 connections).
      SELECT set_config('synchronous_commit', 'off', true) FROM c
    )
    INSERT INTO gateway.token (digest, credential_id, kind, audience, scopes, sites, expires_at)
    SELECT ${given.digest}::bytea, c.id, 'access', ${given.audience}::text, ${given.scopes}::text[],
           ${given.sites}::bigint[], least(now() + make_interval(secs => ${LIVES.access}), c.expires_at)
      FROM c, unflushed WHERE NOT EXISTS (SELECT ${ofTheLastMinute} OFFSET ${SIXTIETH})
    RETURNING floor(extract(epoch FROM expires_at - now()))::integer AS expires_in`);
  if (made) return made;
  const [full] = await db.read<{ wait: number }>(sql`
    SELECT greatest(1, ceil(extract(epoch FROM s.created_at + interval '1 minute' - now())))::integer AS wait
      FROM gateway.credential c CROSS JOIN LATERAL (
        SELECT o.created_at ${ofTheLastMinute} ORDER BY o.created_at DESC OFFSET ${SIXTIETH} LIMIT 1) s
     WHERE ${stands}`);
  return full;
}

export interface EndedConsent {
  readonly consent: string;
  readonly because: 'code_misused' | 'refresh_reused';
}

/** The tokens, or the reason why the exchange was refused. After `stale`, the client must prove its identity again. */
export type Exchanged =
  | {
      readonly refused: 'stale' | 'invalid_grant' | 'invalid_target' | 'invalid_scope' | 'too_many_tokens';
      readonly ended?: EndedConsent;
      /** Seconds that the client must wait. Only present after `too_many_tokens`. */
      readonly wait?: number;
    }
  | { readonly scopes: readonly Scope[]; readonly expires_in: number; readonly refresh_expires_in: number | null };

interface NewTokens {
  readonly access: Uint8Array;
  readonly refresh: Uint8Array;
}

export async function redeemCode(
  db: Database,
  { credential, revision, oldSecret }: Proved,
  given: { code: Uint8Array; redirectUri: string; challenge: string; audience: Resource } & NewTokens,
): Promise<Exchanged> {
  const [row] = await db.query<{ exchanged: Exchanged }>(sql`
    SELECT gateway.redeem_code(${credential}, ${revision}, ${oldSecret}, ${given.code}, ${given.redirectUri},
      ${given.challenge}, ${given.audience}, ${given.access}, ${given.refresh},
      make_interval(secs => ${LIVES.access}), make_interval(secs => ${LIVES.refreshIdle})) AS exchanged`);
  if (!row) throw new Error('redeem_code answered nothing');
  return row.exchanged;
}

/** Replaces a refresh token by a new one. `scopes` limits the new access token. Null means all consented scopes. */
export async function rotateRefresh(
  db: Database,
  { credential, revision, oldSecret }: Proved,
  given: { token: Uint8Array; audience: Resource; scopes: readonly Scope[] | null } & NewTokens,
): Promise<Exchanged> {
  const [row] = await db.query<{ exchanged: Exchanged }>(sql`
    SELECT gateway.rotate_refresh(${credential}, ${revision}, ${oldSecret}, ${given.token}, ${given.audience},
      ${given.scopes}::text[], ${given.access}, ${given.refresh},
      make_interval(secs => ${LIVES.access}), make_interval(secs => ${LIVES.refreshIdle})) AS exchanged`);
  if (!row) throw new Error('rotate_refresh answered nothing');
  return row.exchanged;
}

export interface TokenEnd {
  readonly what: 'token' | 'consent' | 'nothing';
  /**
   * The ended consent, or the consent of the ended token. Undefined when nothing ended, or when the token had no
   * consent.
   */
  readonly consent: string | undefined;
}

/**
 * Ends an access token of this client. For a refresh token, ends the whole consent. A token of another client, or any
 * other text, changes nothing (RFC 7009, section 2.1). Returns `undefined` when the client's proof no longer holds.
 */
export async function endToken(
  db: Database,
  { credential, revision, oldSecret }: Proved,
  digest: Uint8Array,
): Promise<TokenEnd | undefined> {
  const [row] = await db.query<{ proved: boolean; what: TokenEnd['what']; consent: string | null }>(sql`
    WITH k AS MATERIALIZED (SELECT (gateway.client_proved(${credential}, ${revision}, ${oldSecret})).id AS id),
    t AS (
      UPDATE gateway.token t SET revoked_at = now() FROM k
       WHERE t.digest = ${digest} AND t.credential_id = k.id AND t.kind = 'access' AND t.revoked_at IS NULL
       RETURNING t.consent_id
    ), c AS (
      UPDATE gateway.consent c SET revoked_at = now(), revoked_because = 'client' FROM k, gateway.refresh_token r
       WHERE r.digest = ${digest} AND c.id = r.consent_id AND c.credential_id = k.id AND c.revoked_at IS NULL
       RETURNING c.id
    )
    SELECT k.id IS NOT NULL AS proved, coalesce((SELECT c.id FROM c), (SELECT t.consent_id FROM t)) AS consent,
           CASE WHEN EXISTS (SELECT FROM t) THEN 'token' WHEN EXISTS (SELECT FROM c) THEN 'consent' ELSE 'nothing' END AS what
      FROM k`);
  return row?.proved ? { what: row.what, consent: row.consent ?? undefined } : undefined;
}

export interface Approval {
  readonly id: string;
  readonly credential: string;
  readonly revision: number;
  readonly session: Uint8Array;
  readonly request: Uint8Array;
  readonly audience: Resource;
  readonly scopes: readonly Scope[];
  readonly sites: readonly string[];
  readonly renewable: boolean;
  readonly code: Uint8Array;
  readonly challenge: string;
  readonly redirectUri: string;
}

/**
 * Stores a consent with its authorization code. Returns false when the request was already answered, or when the
 * session, the role or the credential has changed since the page was shown. The rows of the person, the session and the
 * credential stay locked until the commit. Nothing is stored if the person, the session or the credential has already
 * ended. If the person or the credential ends later, this consent also ends.
 */
export async function insertConsent(db: Database, approval: Approval): Promise<boolean> {
  const rows = await db.query(sql`
    INSERT INTO gateway.consent (id, credential_id, person_id, request, audience, scopes, sites, renewable, code_digest,
                                 code_challenge, code_expires_at, redirect_uri, expires_at)
    SELECT ${approval.id}::text, c.id, p.id, ${approval.request}::bytea, ${approval.audience}::text,
           ${approval.scopes}::text[], ${approval.sites}::bigint[], ${approval.renewable}::boolean,
           ${approval.code}::bytea, ${approval.challenge}::text, now() + make_interval(secs => ${LIVES.code}),
           ${approval.redirectUri}::text,
           least(c.expires_at, now() + make_interval(secs => CASE WHEN ${approval.renewable}::boolean
             THEN ${LIVES.renewableConsent}::integer ELSE ${LIVES.code + LIVES.access}::integer END))
      FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id, gateway.credential c
     WHERE s.digest = ${approval.session} AND s.expires_at > now()
       AND ${mayConsent}
       AND c.id = ${approval.credential} AND c.revision = ${approval.revision} AND c.revoked_at IS NULL AND c.expires_at > now()
       FOR SHARE OF p, s, c
    ON CONFLICT (request) DO NOTHING
    RETURNING 1`);
  return rows.length > 0;
}

/**
 * Deletes rows that are no longer needed. Access tokens are deleted an hour after their end. During this hour, the
 * gateway can tell an ended token from an unknown token. Refresh tokens are deleted when their consent is revoked, or
 * an hour after it expires. Until then, replaced refresh tokens stay, because their reuse must end the consent.
 * Consents and known sign-in sources are deleted after 30 days. Expired sessions and old failed sign-ins are also
 * deleted. The salt of a replaced refresh token is deleted when the refresh can no longer be repeated.
 *
 * Changes at most `n` rows of each kind. Returns the number of changed rows of the most frequent kind.
 */
export async function purgeOAuth(db: Database, n: number): Promise<number> {
  const [row] = await db.query<{ purged: number }>(sql`
    WITH t AS (
      DELETE FROM gateway.token WHERE digest IN (
        SELECT digest FROM gateway.token WHERE kind = 'access' AND expires_at < now() - interval '1 hour'
         ORDER BY expires_at LIMIT ${n} FOR UPDATE SKIP LOCKED) RETURNING 1
    ), e AS MATERIALIZED (
      -- The index on these two times leads to few rows, because a consent leaves the index when it is marked as purged.
      SELECT id FROM gateway.consent
       WHERE NOT purged AND least(expires_at, revoked_at) < now() AND expires_at >= now() - interval '30 days'
         AND (revoked_at IS NOT NULL OR expires_at < now() - interval '1 hour')
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
        SELECT id FROM gateway.consent WHERE expires_at < now() - interval '30 days'
         ORDER BY expires_at LIMIT ${n} FOR UPDATE SKIP LOCKED) RETURNING 1
    ), s AS (
      DELETE FROM gateway.session WHERE digest IN (
        SELECT digest FROM gateway.session WHERE expires_at <= now()
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
        SELECT digest FROM gateway.refresh_token WHERE salt IS NOT NULL AND used_at < now() - interval '10 seconds'
         ORDER BY used_at LIMIT ${n} FOR UPDATE SKIP LOCKED) RETURNING 1
    )
    SELECT greatest((SELECT count(*) FROM x), (SELECT count(*) FROM t), (SELECT count(*) FROM r), (SELECT count(*) FROM m),
                    (SELECT count(*) FROM c), (SELECT count(*) FROM s), (SELECT count(*) FROM f),
                    (SELECT count(*) FROM p))::integer AS purged`);
  return row?.purged ?? 0;
}
