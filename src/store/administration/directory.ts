import { sql } from '../../core/sql.ts';
import { sqlState } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';

export interface OrganizationRecord {
  readonly id: string;
  readonly external_id: string;
  readonly name: string;
  readonly websites: number;
  readonly apps: number;
  readonly people: number;
  /** For how many days texts and files of messages are kept. Null: for ever. */
  readonly keep_messages_days: number | null;
  /** The organization's number, with which its public ids begin. */
  readonly number: number;
  /** The host by which its clients reach the gateway. Null: the base URL. */
  readonly host: string | null;
  /** The base URL of the cell in which it lives now. Null: it lives here. */
  readonly moved_to: string | null;
  /** The phase of its move: `copying`, `holding`, `moved`, or `arriving` from another cell. Null: none. */
  readonly move: string | null;
}

export const readOrganizations = (db: Database): Promise<OrganizationRecord[]> =>
  db.query<OrganizationRecord>(sql`
    SELECT o.public_id AS id, o.external_id, o.name, o.keep_messages_days, o.tenant::float8 AS number, o.host, o.moved_to,
           (SELECT m.phase FROM gateway.move m WHERE m.tenant = o.tenant) AS move,
           (SELECT count(*)::integer FROM platform.website w WHERE w.tenant = o.tenant) AS websites,
           (SELECT count(*)::integer FROM gateway.app a WHERE a.tenant = o.tenant) AS apps,
           (SELECT count(*)::integer FROM gateway.person p WHERE p.tenant = o.tenant) AS people
      FROM platform.organization o ORDER BY o.tenant`);

/** The hosts of organizations, in lower case. */
export async function readHosts(db: Database): Promise<string[]> {
  const rows = await db.read<{ host: string }>(sql`
    SELECT host FROM platform.organization WHERE host IS NOT NULL ORDER BY host`);
  return rows.map(({ host }) => host);
}

interface OrganizationChange {
  /** Null removes the host. Undefined: it stays. */
  readonly host?: string | null | undefined;
  /** For how many days texts and files of messages are kept. Null: for ever. Undefined: as before. */
  readonly days?: number | null | undefined;
}

/** Changes an organization, or nothing. Returns the id of another organization that has the host. */
export async function updateOrganization(
  db: Database,
  tenant: string,
  { host, days }: OrganizationChange,
): Promise<string | undefined> {
  const change = sql`
    WITH changed AS (
      UPDATE platform.organization o
         SET host = CASE WHEN ${host !== undefined} THEN ${host ?? null}::text ELSE o.host END,
             keep_messages_days = CASE WHEN ${days !== undefined} THEN ${days ?? null}::integer ELSE o.keep_messages_days END
       WHERE o.tenant = ${tenant}
         AND NOT EXISTS (SELECT FROM platform.organization x WHERE x.host = ${host ?? null}::text AND x.tenant <> ${tenant})
      RETURNING o.tenant
    ), anew AS (
      -- The next round begins at once, at the first message.
      UPDATE gateway.retention_round r SET began_at = '-infinity', ended_at = '-infinity'
        FROM changed c WHERE r.tenant = c.tenant AND ${days !== undefined}
    )
    SELECT x.public_id AS id FROM platform.organization x WHERE x.host = ${host ?? null}::text AND x.tenant <> ${tenant}`;
  const [taken] = await db.query<{ id: string }>(change).catch((error: unknown) => {
    if (sqlState(error) !== '23505') throw error;
    // Another organization took the host at the same time. Its transaction has ended, so this statement finds it.
    return db.query<{ id: string }>(change);
  });
  return taken?.id;
}

export interface WebsiteRecord {
  readonly id: string;
  readonly external_id: string;
  readonly name: string;
  readonly time_zone: string;
  readonly organization_id: string;
  readonly organization_external_id: string;
}

export const readWebsites = (db: Database, { tenant = null }: { tenant?: string | null }): Promise<WebsiteRecord[]> =>
  db.query<WebsiteRecord>(sql`
    SELECT 'web_' || w.tenant || '_' || w.site AS id, w.external_id, w.name, w.time_zone,
           o.public_id AS organization_id, o.external_id AS organization_external_id
      FROM platform.website w JOIN platform.organization o ON o.tenant = w.tenant
     WHERE ${tenant}::bigint IS NULL OR w.tenant = ${tenant} ORDER BY w.tenant, w.site`);
