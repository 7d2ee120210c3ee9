import { createHash } from 'node:crypto';
import type { Authority, Resource } from '../../core/authority.ts';
import { websiteKey } from '../../core/ids.ts';
import type { DataAccess, Scope } from '../../core/scopes.ts';
import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';
import { type Found, lookUp, type Proof } from './guard.ts';

interface AuthorityRow extends Found {
  id: string;
  environment: 'live' | 'test';
  organization_id: string;
  app_id: string;
  installation_id: string;
  tenant: string;
  sites: string[];
  scopes: Scope[];
  data_access: DataAccess[];
  channel_ids: string[] | null;
  team_ids: string[] | null;
  subsite_ids: string[] | null;
  /** The data access that a person gave with the consent. null: the token was issued without a consent. */
  given_data_access: DataAccess[] | null;
  given_channel_ids: string[] | null;
  given_team_ids: string[] | null;
  given_subsite_ids: string[] | null;
  expires_at: Date;
  audience: Resource | null;
  consent_id: string | null;
  person_id: string | null;
  by_url: boolean;
}

/** Keeps for each authority the SHA-256 of the database row from which the authority was built. */
const madeOf = new WeakMap<Authority, string>();

/**
 * Loads the current authority of a token in one statement. Returns `null` if no token has this digest. `proof` is
 * present when the state is `valid`. If the database row has not changed since `before` was loaded, returns the object
 * `before` itself, because derived data is cached with this object (store/calls/projection.ts).
 */
export async function loadAuthority(
  db: Database,
  digest: Uint8Array,
  before?: Authority,
  network?: string,
): Promise<{ state: Found['state']; authority: Authority; proof: Proof | undefined } | null> {
  const columns = sql`
           c.id, c.environment, o.public_id AS organization_id, a.id AS app_id, i.id AS installation_id,
           a.tenant, c.data_access, c.channel_ids, c.team_ids, c.subsite_ids, t.audience, t.consent_id, n.person_id,
           c.hosted_client IS NOT NULL AS by_url,
           n.data_access AS given_data_access, n.channel_ids AS given_channel_ids, n.team_ids AS given_team_ids,
           n.subsite_ids AS given_subsite_ids,
           least(t.expires_at, c.expires_at) AS expires_at,
           -- A scope of the token counts only while the credential still has this scope.
           ARRAY(SELECT s FROM unnest(c.scopes) AS s WHERE t.scopes IS NULL OR s = ANY(t.scopes)) AS scopes,
           ARRAY(SELECT w.site FROM platform.website w WHERE w.tenant = a.tenant AND w.site = ANY(c.sites)
                    AND (t.sites IS NULL OR w.site = ANY(t.sites)) ORDER BY w.site) AS sites`;
  const joins = sql`
      JOIN gateway.installation i ON i.id = c.installation_id
      JOIN gateway.app a ON a.id = i.app_id
      JOIN platform.organization o ON o.tenant = a.tenant
      LEFT JOIN gateway.consent n ON n.id = t.consent_id`;
  // The app of a token is still unknown. So the look-up waits in the turn of the caller's network.
  const found = await lookUp<AuthorityRow>(db, digest, { columns, joins, turn: before?.appId ?? network });
  if (!found) return null;
  const { row, proof } = found;
  const made = createHash('sha256').update(JSON.stringify(row)).digest('base64');
  if (before && madeOf.get(before) === made) return { state: row.state, authority: before, proof };
  const authority = authorityOf(row, digest);
  madeOf.set(authority, made);
  return { state: row.state, authority, proof };
}

/** The ids that both lists permit. A null list permits every id. An empty list permits none. */
const both = (now: string[] | null, given: string[] | null): string[] | null =>
  now && given ? now.filter((id) => given.includes(id)) : (now ?? given);

/**
 * Builds the authority from its row. A consent never changes, so token digest and credential revision prove the
 * authority later (store/calls/guard.ts).
 */
function authorityOf(row: AuthorityRow, digest: Uint8Array): Authority {
  const websites = row.sites.map((site) => websiteKey(row.tenant, site));
  const given = row.consent_id === null ? row.data_access : (row.given_data_access ?? []);
  const channels = both(row.channel_ids, row.given_channel_ids);
  const teams = both(row.team_ids, row.given_team_ids);
  const subsites = both(row.subsite_ids, row.given_subsite_ids);
  return {
    digest,
    credentialId: row.id,
    revision: row.revision,
    audience: row.audience,
    consentId: row.consent_id,
    personId: row.person_id,
    clientByUrl: row.by_url,
    environment: row.environment,
    organizationId: row.organization_id,
    appId: row.app_id,
    installationId: row.installation_id,
    scopes: new Set(row.scopes),
    dataAccess: new Set(row.data_access.filter((flag) => given.includes(flag))),
    websites: new Map(websites.map((website) => [website.id, website])),
    restrictions: {
      ...(channels && { channel_ids: channels }),
      ...(teams && { team_ids: teams }),
      ...(subsites && { subsite_ids: subsites }),
    },
    expiresAt: Math.floor(row.expires_at.getTime() / 1000),
  };
}
