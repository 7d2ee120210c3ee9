import { createHash } from 'node:crypto';
import { type Authority, type Resource, waitsOf } from '../../core/authority.ts';
import { Failure } from '../../core/failures.ts';
import { websiteKey } from '../../core/ids.ts';
import type { DataAccess, Restriction, Scope } from '../../core/scopes.ts';
import { sql } from '../../core/sql.ts';
import { addressRanges } from '../../flow/address-ranges.ts';
import type { Database } from '../driver/postgres.ts';
import { type Found, lookUp, type Proof } from './guard.ts';

interface AuthorityRow extends Found, Record<Restriction | `given_${Restriction}`, string[] | null> {
  id: string;
  environment: 'live' | 'test';
  organization_id: string;
  app_id: string;
  installation_id: string;
  tenant: string;
  sites: string[];
  scopes: Scope[];
  data_access: DataAccess[];
  /** The data access that a person gave with the consent. null: the token was issued without a consent. */
  given_data_access: DataAccess[] | null;
  expires_at: Date;
  audience: Resource | null;
  consent_id: string | null;
  person_id: string | null;
  by_url: boolean;
  allow_ip: string[];
  switched_off: string[];
  approve: string[];
  write: string[];
  without_approval: string[];
  moved_to: string | null;
}

export interface LoadedAuthority {
  readonly state: Found['state'];
  readonly authority: Authority;
  readonly proof: Proof | undefined;
  /** The base URL of the cell in which the organization lives now. Null: it lives here. */
  readonly movedTo: string | null;
}

/** The refusal of a good token whose organization lives in another cell, or is not open here yet. */
export function elsewhere({ state, authority: actor, movedTo }: LoadedAuthority): Failure | undefined {
  if (state === 'arriving') return new Failure('service_unavailable', { actor, retryAfter: 1 });
  if (state !== 'moved') return undefined;
  return new Failure('organization_moved', { actor, ...(movedTo !== null && { baseUrl: movedTo }) });
}

/** Keeps for each authority the SHA-256 of the database row from which the authority was built. */
const madeOf = new WeakMap<Authority, string>();

/**
 * Loads the current authority of a token in one statement. Returns `null` if no token has this digest. `proof` is
 * present when the state is `valid`. If the database row has not changed since `before` was loaded, returns the object
 * `before` itself, because derived data is cached with this object (store/calls/projection.ts). `turn`: the app or
 * network in whose turn the statement waits.
 */
export async function loadAuthority(
  db: Database,
  digest: Uint8Array,
  before?: Authority,
  turn?: string,
): Promise<LoadedAuthority | null> {
  const found = await lookUp<AuthorityRow>(db, digest, { columns: COLUMNS, joins: JOINS, turn });
  if (!found) return null;
  const { row, proof } = found;
  const made = createHash('sha256').update(JSON.stringify(row)).digest('base64');
  const authority = before && madeOf.get(before) === made ? before : authorityOf(row, digest);
  madeOf.set(authority, made);
  return { state: row.state, authority, proof, movedTo: row.moved_to };
}

/** Of a token `t` and its credential `c`. */
const COLUMNS = sql`
           c.id, c.environment, o.public_id AS organization_id, a.id AS app_id, i.id AS installation_id,
           a.tenant, c.data_access, c.channel_ids, c.team_ids, c.subsite_ids, t.audience, t.consent_id, n.person_id,
           c.hosted_client IS NOT NULL AS by_url, c.allow_ip, a.switched_off, c.approve, c.write, c.without_approval, o.moved_to,
           n.data_access AS given_data_access, n.channel_ids AS given_channel_ids, n.team_ids AS given_team_ids,
           n.subsite_ids AS given_subsite_ids,
           least(t.expires_at, c.expires_at) AS expires_at,
           -- A scope of the token counts only while the credential still has this scope.
           ARRAY(SELECT s FROM unnest(c.scopes) AS s WHERE t.scopes IS NULL OR s = ANY(t.scopes)) AS scopes,
           ARRAY(SELECT w.site FROM platform.website w WHERE w.tenant = a.tenant AND w.site = ANY(c.sites)
                    AND (t.sites IS NULL OR w.site = ANY(t.sites))
                    AND NOT EXISTS (SELECT FROM gateway.source s
                                     WHERE s.tenant = w.tenant AND s.site = w.site AND s.removing_at IS NOT NULL)
                  ORDER BY w.site) AS sites`;
const JOINS = sql`
      JOIN gateway.installation i ON i.id = c.installation_id
      JOIN gateway.app a ON a.id = i.app_id
      JOIN platform.organization o ON o.tenant = a.tenant
      LEFT JOIN gateway.consent n ON n.id = t.consent_id`;

/**
 * Loads the rights under which a pending write would run now: those of its request, whose token may have expired.
 * Undefined if there is no such write, or if its credential is gone. The statement of the decision proves them.
 */
export async function loadAskedAuthority(db: Database, operationId: string): Promise<Authority | undefined> {
  const [row] = await db.read<AuthorityRow>(sql`
    SELECT 'valid' AS state, c.revision, ${COLUMNS}
      FROM (SELECT a.*, NULL::text AS audience, NULL::timestamptz AS expires_at
              FROM gateway.approval a WHERE a.operation_id = ${operationId}) t
      JOIN gateway.credential c ON c.id = t.credential_id ${JOINS}`);
  return row && authorityOf(row, new Uint8Array());
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
    admits: addressRanges(row.allow_ip),
    switchedOff: new Set(row.switched_off),
    approve: new Set(waitsOf(row)),
    write: new Set(row.write),
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
