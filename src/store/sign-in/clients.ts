import type { DataAccess, Scope } from '../../core/scopes.ts';
import { type Fragment, runFor, sql } from '../../core/sql.ts';
import { type AddressRanges, addressRanges } from '../../flow/address-ranges.ts';
import type { Database } from '../driver/postgres.ts';

/** The organization and the websites whose data a client can get. */
export interface Offer {
  readonly organization: string;
  readonly websites: readonly { id: string; site: string; name: string; timeZone: string }[];
}

/** An OAuth client with a credential from the command line. It authenticates with a secret. */
export interface InstalledClient extends Offer {
  readonly kind: 'installed';
  readonly id: string;
  readonly revision: number;
  readonly environment: 'live' | 'test';
  readonly tenant: string;
  readonly name: string;
  readonly scopes: Scope[];
  readonly dataAccess: DataAccess[];
  readonly restricted: boolean;
  readonly redirects: string[];
  readonly secretDigest: Uint8Array;
  /**
   * The digest of the secret before the last rotation. Null when that secret is no longer accepted. Each statement
   * checks again whether that secret is accepted.
   */
  readonly oldSecretDigest: Uint8Array | null;
  /** The base URL of the cell in which the organization lives now. Null: it lives here. */
  readonly movedTo: string | null;
  /** Says whether the client may authenticate from an IP address. Null: from every address. */
  readonly admits: AddressRanges;
}

/** SQL for the member `websites` of an offer. */
const websites = (which: Fragment): Fragment => sql`
  coalesce((SELECT jsonb_agg(jsonb_build_object('id', 'web_' || w.tenant || '_' || w.site, 'site', w.site::text,
                                                'name', w.name, 'timeZone', w.time_zone) ORDER BY w.site)
     FROM platform.website w WHERE ${which}), '[]') AS websites`;

/**
 * Loads the client of an active credential. A credential that a person's approval has made belongs to a client by URL,
 * and has no known secret. `network` is the caller's network. When connections are busy, the networks take turns.
 */
export async function loadInstalled(db: Database, id: string, network: string): Promise<InstalledClient | undefined> {
  const [row] = await db.read<Omit<InstalledClient, 'admits'> & { allow_ip: string[] }>(
    runFor(
      network,
      sql`
    SELECT 'installed' AS kind, c.id, c.revision, c.environment, a.tenant, o.name AS organization, o.moved_to AS "movedTo", a.name, c.scopes,
           c.data_access AS "dataAccess", c.callbacks AS redirects, c.secret_digest AS "secretDigest",
           CASE WHEN c.old_secret_until > now() THEN c.old_secret_digest END AS "oldSecretDigest",
           c.allow_ip, (c.channel_ids IS NOT NULL OR c.team_ids IS NOT NULL OR c.subsite_ids IS NOT NULL) AS restricted,
           ${websites(sql`w.tenant = a.tenant AND w.site = ANY (c.sites)`)}
      FROM gateway.credential c
      JOIN gateway.installation i ON i.id = c.installation_id
      JOIN gateway.app a ON a.id = i.app_id
      JOIN platform.organization o ON o.tenant = a.tenant
     WHERE c.id = ${id} AND c.hosted_client IS NULL AND c.revoked_at IS NULL AND c.expires_at > now()`,
    ),
  );
  return row && { ...row, admits: addressRanges(row.allow_ip) };
}

/** Loads what a signed-in person of the organization can grant to a client by URL. */
export async function loadOffer(db: Database, tenant: string): Promise<Offer | undefined> {
  const [row] = await db.read<Offer>(sql`
    SELECT o.name AS organization, ${websites(sql`w.tenant = o.tenant`)}
      FROM platform.organization o WHERE o.tenant = ${tenant}`);
  // A shared read adds a member to its rows (driver/shared-reads.ts). The version of the consent page must not depend on it.
  return row && { organization: row.organization, websites: row.websites };
}
