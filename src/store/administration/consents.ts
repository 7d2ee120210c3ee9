import type { Resource } from '../../core/authority.ts';
import type { DataAccess, Restriction, Scope } from '../../core/scopes.ts';
import { empty, type Fragment, sql } from '../../core/sql.ts';
import { MOVED_CREDENTIALS } from '../calls/moved.ts';
import type { Database } from '../driver/postgres.ts';
import {
  type Administrator,
  door,
  type ListPage,
  mentions,
  type Nullable,
  readPage,
  type Slice,
  within,
} from './administrator.ts';

/** A person's consent to an app, without authorization code, tokens and digests. Each write here is one statement. */
export interface ConsentRecord extends Readonly<Record<Restriction, string[] | null>> {
  readonly id: string;
  readonly credential_id: string;
  readonly app_id: string;
  readonly app_name: string;
  /** The host and the URL of a client by URL. Null for an installed client. */
  readonly client_host: string | null;
  readonly client_id: string | null;
  readonly organization_id: string;
  readonly person_id: string;
  readonly email: string;
  readonly resource: Resource;
  readonly scopes: Scope[];
  readonly website_ids: string[];
  /** The credential's data access and restrictions at the consent. A token needs both these and the current ones. */
  readonly data_access: DataAccess[];
  readonly renewable: boolean;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly state: 'active' | 'expired' | 'revoked';
  /** Why the consent is revoked or expired. Null for an active consent. */
  readonly because: Revoked | LapseReason | null;
  readonly revoked_at: Date | null;
}

/**
 * Why a consent was revoked. `revoked`: by an administrator. `client`: by the app. `person`: the person was disabled,
 * or is no longer owner or admin. `replaced`: the person approved the same client again. `host`: the operator removed
 * the client's host from GATEWAY_CLIENT_HOSTS.
 */
type Revoked = 'revoked' | 'client' | 'code_misused' | 'refresh_reused' | 'person' | 'credential' | 'replaced' | 'host';
/** Why a consent has expired. `unused`: its code was not exchanged in time, or no token can be used or renewed. */
type LapseReason = 'time' | 'credential_expired' | 'unused';

const view = (where: Fragment = empty): Fragment => sql`
  SELECT v.*, CASE WHEN v.revoked_at IS NOT NULL THEN 'revoked' WHEN v.lapsed IS NOT NULL THEN 'expired' ELSE 'active' END AS state,
         coalesce(v.revoked_because, v.lapsed) AS because
    FROM (
      SELECT c.id, c.credential_id, a.id AS app_id, a.name AS app_name,
             k.hosted_host AS client_host, k.hosted_client AS client_id, o.public_id AS organization_id, c.person_id, p.email,
             c.audience AS resource, c.scopes, ARRAY(SELECT 'web_' || a.tenant || '_' || s FROM unnest(c.sites) AS s) AS website_ids,
             c.data_access, c.channel_ids, c.team_ids, c.subsite_ids, c.renewable, c.created_at, c.expires_at, c.revoked_at, c.revoked_because,
             CASE WHEN c.expires_at <= now() THEN 'time' WHEN k.expires_at <= now() THEN 'credential_expired'
                  WHEN CASE WHEN c.code_used_at IS NULL THEN c.code_expires_at <= now() ELSE NOT (
                         EXISTS (SELECT FROM gateway.token t WHERE t.consent_id = c.id AND t.revoked_at IS NULL AND t.expires_at > now())
                         OR EXISTS (SELECT FROM gateway.refresh_token r WHERE r.consent_id = c.id AND r.used_at IS NULL AND r.expires_at > now()))
                       END THEN 'unused' END AS lapsed
        FROM c
        JOIN gateway.credential k ON k.id = c.credential_id
        JOIN gateway.installation i ON i.id = k.installation_id
        JOIN gateway.app a ON a.id = i.app_id
        JOIN platform.organization o ON o.tenant = a.tenant
        JOIN gateway.person p ON p.id = c.person_id
       ${where}) v
   ORDER BY v.created_at, v.id`;

/** The organization of a row of the table `consent`. */
const TENANT = sql`(SELECT p.tenant FROM gateway.person p WHERE p.id = consent.person_id)`;

export interface ConsentFilter {
  readonly credential?: string;
  readonly person?: string;
  readonly tenant?: string;
}

export async function listConsents(db: Database, filter: ConsentFilter = {}): Promise<ConsentRecord[]> {
  const { credential = null, person = null, tenant = null } = filter;
  return db.query<ConsentRecord>(sql`
    WITH c AS (
      SELECT * FROM gateway.consent
       WHERE (${credential}::text IS NULL OR credential_id = ${credential}) AND (${person}::text IS NULL OR person_id = ${person})
    ) ${view(sql`WHERE ${tenant}::bigint IS NULL OR a.tenant = ${tenant}`)}`);
}

export interface ConsentSearch {
  readonly id?: string | undefined;
  readonly state?: ConsentRecord['state'] | undefined;
  readonly app?: string | undefined;
  readonly person?: string | undefined;
  /** Part of the e-mail address, or of the name or host of the app. */
  readonly text?: string | undefined;
}

/** One page of the consents in the administrator's organization. */
export const pageOfConsents = (
  db: Database,
  by: Administrator,
  { id = null, state = null, app = null, person = null, text = null }: Nullable<ConsentSearch>,
  slice: Slice,
): Promise<ListPage<ConsentRecord>> =>
  readPage(
    db,
    by,
    sql`SELECT w.* FROM (
      WITH c AS (SELECT * FROM gateway.consent WHERE (${id}::text IS NULL OR id = ${id})
                   AND (${person}::text IS NULL OR person_id = ${person}))
      ${view(sql`WHERE ${within(by, sql`a.tenant`)} AND (${app}::text IS NULL OR a.id = ${app})`)}) w
     WHERE (${state}::text IS NULL OR w.state = ${state})
       AND ${mentions(text, [sql`w.email`, sql`w.app_name`, sql`coalesce(w.client_host, '')`])}`,
    slice,
  );

/** Ends all active consents and their tokens, and all sessions of people. Returns the number of ended consents. */
export async function endConsents(db: Database): Promise<number> {
  const [row] = await db.query<{ ended: number }>(sql`
    WITH sessions AS (DELETE FROM gateway.session), ended AS (
      UPDATE gateway.consent SET revoked_at = now(), revoked_because = 'revoked'
       WHERE revoked_at IS NULL AND expires_at > now() AND credential_id NOT IN (${MOVED_CREDENTIALS}) RETURNING 1
    ) SELECT count(*)::integer AS ended FROM ended`);
  return row?.ended ?? 0;
}

/**
 * Ends a consent and its tokens at once. Does not change one that was revoked, or whose time is over. Undefined if
 * there is none.
 */
export async function revokeConsent(db: Database, id: string, by?: Administrator): Promise<ConsentRecord | undefined> {
  const [row] = await db.query<ConsentRecord>(sql`
    WITH ${door(by)}c AS (
      UPDATE gateway.consent
         SET revoked_at = coalesce(revoked_at, CASE WHEN expires_at > now() THEN now() END),
             revoked_because = coalesce(revoked_because, CASE WHEN expires_at > now() THEN 'revoked' END)
       WHERE id = ${id} AND ${within(by, TENANT)} RETURNING *
    ) ${view()}`);
  return row;
}
