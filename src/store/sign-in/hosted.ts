import type { Resource } from '../../core/authority.ts';
import type { DataAccess, Scope } from '../../core/scopes.ts';
import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';
import { type Exchanged, LIVES, type TokenEnd } from './oauth.ts';

/** The organization whose data a signed-in person can grant to a hosted client. */
export interface Offer {
  readonly organization: string;
  readonly websites: readonly { id: string; site: string; name: string; timeZone: string }[];
}

export async function loadOffer(db: Database, tenant: string): Promise<Offer | undefined> {
  const [row] = await db.read<Offer>(sql`
    SELECT o.name AS organization,
           coalesce((SELECT jsonb_agg(jsonb_build_object('id', 'web_' || w.tenant || '_' || w.site, 'site', w.site::text,
                                                         'name', w.name, 'timeZone', w.time_zone) ORDER BY w.site)
              FROM platform.website w WHERE w.tenant = o.tenant), '[]') AS websites
      FROM platform.organization o WHERE o.tenant = ${tenant}`);
  return row;
}

export interface HostedApproval {
  readonly id: string;
  /** The ids of the app, its installation and its credential. They are unused if the person approved this client before. */
  readonly app: string;
  readonly installation: string;
  readonly credential: string;
  /** The digest of a secret that nobody knows. */
  readonly secret: Uint8Array;
  readonly client: string;
  readonly host: string;
  readonly name: string;
  readonly session: Uint8Array;
  readonly request: Uint8Array;
  readonly audience: Resource;
  readonly scopes: readonly Scope[];
  readonly sites: readonly string[];
  readonly dataAccess: readonly DataAccess[];
  /** Seconds until the consent ends. */
  readonly lasts: number;
  /** Seconds without a refresh after which the consent ends. */
  readonly idle: number;
  readonly code: Uint8Array;
  readonly challenge: string;
  readonly redirectUri: string;
}

/**
 * Stores a person's approval of a hosted client (0014_hosted_clients.sql). Returns false when the request was already
 * answered, or when the session, the role or the websites have changed since the page was shown.
 */
export async function insertHosted(db: Database, given: HostedApproval): Promise<boolean> {
  const [row] = await db.query<{ done: boolean }>(sql`
    SELECT gateway.approve_hosted(${given.id}, ${given.app}, ${given.installation}, ${given.credential}, ${given.secret},
      ${given.client}, ${given.host}, ${given.name}, ${given.session}, ${given.request}, ${given.audience},
      ${given.scopes}::text[], ${given.sites}::bigint[], ${given.dataAccess}::text[],
      make_interval(secs => ${given.lasts}), make_interval(secs => ${given.idle}), ${given.code},
      make_interval(secs => ${LIVES.code}), ${given.challenge}, ${given.redirectUri}) AS done`);
  return row?.done === true;
}

interface NewTokens {
  readonly access: Uint8Array;
  readonly refresh: Uint8Array;
}

/** The credential and the consent of a code or refresh token. Absent when the code or token is not the client's. */
export interface Holder {
  readonly credential?: string | undefined;
  readonly consent?: string | undefined;
}

export async function redeemHosted(
  db: Database,
  client: string,
  given: { code: Uint8Array; redirectUri: string; challenge: string; audience: Resource } & NewTokens,
): Promise<Exchanged & Holder> {
  const [row] = await db.query<{ exchanged: Exchanged & Holder }>(sql`
    SELECT gateway.redeem_hosted(${client}, ${given.code}, ${given.redirectUri}, ${given.challenge}, ${given.audience},
      ${given.access}, ${given.refresh}, make_interval(secs => ${LIVES.access})) AS exchanged`);
  if (!row) throw new Error('redeem_hosted answered nothing');
  return row.exchanged;
}

/**
 * Replaces the refresh token of a hosted client. `salt` is the salt from which the new tokens are derived. The answer
 * has another salt when the request repeats an earlier request.
 */
export async function rotateHosted(
  db: Database,
  client: string,
  given: { token: Uint8Array; audience: Resource; scopes: readonly Scope[] | null; salt: Uint8Array } & NewTokens,
): Promise<Exchanged & Holder & { readonly salt?: string }> {
  const [row] = await db.query<{ exchanged: Exchanged & Holder & { readonly salt?: string } }>(sql`
    SELECT gateway.rotate_hosted(${client}, ${given.token}, ${given.audience}, ${given.scopes}::text[], ${given.access},
      ${given.refresh}, ${given.salt}, make_interval(secs => ${LIVES.access})) AS exchanged`);
  if (!row) throw new Error('rotate_hosted answered nothing');
  return row.exchanged;
}

/** Like `endToken` for issued credentials (oauth.ts). A token of another client, or any other text, changes nothing. */
export async function endHostedToken(db: Database, client: string, digest: Uint8Array): Promise<TokenEnd & Holder> {
  const [row] = await db.query<{ what: TokenEnd['what']; consent: string; credential: string }>(sql`
    WITH t AS (
      UPDATE gateway.token t SET revoked_at = now() FROM gateway.credential k
       WHERE t.digest = ${digest} AND k.id = t.credential_id AND k.hosted_client = ${client} AND t.kind = 'access'
         AND t.revoked_at IS NULL
       RETURNING t.consent_id AS consent, k.id AS credential
    ), c AS (
      UPDATE gateway.consent c SET revoked_at = now(), revoked_because = 'client'
        FROM gateway.refresh_token r, gateway.credential k
       WHERE r.digest = ${digest} AND c.id = r.consent_id AND k.id = c.credential_id AND k.hosted_client = ${client}
         AND c.revoked_at IS NULL
       RETURNING c.id AS consent, k.id AS credential
    )
    SELECT 'token' AS what, consent, credential FROM t UNION ALL SELECT 'consent', consent, credential FROM c`);
  return row ?? { what: 'nothing', consent: undefined };
}

/** The largest number of consents that one statement ends. 20,000 in one statement took 2.8 s (23 November 2026). */
const BATCH = 500;

/**
 * Ends the consents of hosted clients whose host is not in `hosts`, with all their tokens. Returns the number of ended
 * consents. If another replica ends some of these consents at the same time, waits until they have ended.
 */
export async function endStrangeHosts(db: Database, hosts: readonly string[]): Promise<number> {
  for (let total = 0; ; ) {
    const [row] = await db.query<{ found: number; ended: number }>(sql`
      WITH strange AS MATERIALIZED (
        SELECT c.id FROM gateway.consent c JOIN gateway.credential k ON k.id = c.credential_id
         WHERE k.hosted_host IS NOT NULL AND k.hosted_host <> ALL (${hosts}::text[])
           AND c.idle IS NOT NULL AND c.revoked_at IS NULL AND c.expires_at > now()
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
