import { sql } from '../../core/sql.ts';
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

export interface AppRecord {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly organization_id: string;
  readonly organization_external_id: string;
  readonly installation_ids: string[];
  /** The host of a client by URL. Null for an app from the command line. */
  readonly client_host: string | null;
  readonly quota_per_minute: number;
  readonly burst: number;
  /** The operations that an owner or admin has switched off for the app, by name. */
  readonly switched_off: string[];
  readonly created_at: Date;
}

export interface QuotaSettings {
  readonly perMinute?: number;
  readonly burst?: number;
}

/** Inserts an app with one installation. Returns undefined when the organization does not exist. */
export async function insertApp(
  db: Database,
  app: { id: string; installation: string; tenant: string; name: string; quota: QuotaSettings },
): Promise<{ quota_per_minute: number; burst: number } | undefined> {
  const { perMinute = 600, burst = 120 } = app.quota;
  const [row] = await db.query<{ quota_per_minute: number; burst: number }>(sql`
    WITH a AS (
      INSERT INTO gateway.app (id, tenant, name, quota_per_minute, burst)
      SELECT ${app.id}::text, o.tenant, ${app.name}::text, ${perMinute}::integer, ${burst}::integer
        FROM platform.organization o WHERE o.tenant = ${app.tenant}
      RETURNING id, quota_per_minute, burst
    ), i AS (
      INSERT INTO gateway.installation (id, app_id) SELECT ${app.installation}::text, a.id FROM a
    ) SELECT quota_per_minute, burst FROM a`);
  return row;
}

export async function readApps(db: Database, filter: { id?: string; tenant?: string } = {}): Promise<AppRecord[]> {
  const { id = null, tenant = null } = filter;
  return db.query<AppRecord>(sql`
    SELECT a.id, a.tenant, a.name, o.public_id AS organization_id, o.external_id AS organization_external_id,
           ARRAY(SELECT i.id FROM gateway.installation i WHERE i.app_id = a.id ORDER BY i.created_at, i.id) AS installation_ids,
           (SELECT c.hosted_host FROM gateway.installation i JOIN gateway.credential c ON c.installation_id = i.id
             WHERE i.app_id = a.id AND c.hosted_host IS NOT NULL LIMIT 1) AS client_host,
           a.quota_per_minute, a.burst, a.switched_off, a.created_at
      FROM gateway.app a JOIN platform.organization o ON o.tenant = a.tenant
     WHERE (${id}::text IS NULL OR a.id = ${id}) AND (${tenant}::bigint IS NULL OR a.tenant = ${tenant})
     ORDER BY a.created_at, a.id`);
}

/** An app with what an administrator needs in a list. */
export interface AppSummary extends Pick<AppRecord, 'id' | 'name' | 'client_host' | 'created_at' | 'switched_off'> {
  readonly active_credentials: number;
  readonly active_consents: number;
  /** The first end of an active credential. Null without one. */
  readonly next_end: Date | null;
  /** The writes that the policies of its credentials name. */
  readonly writes: string[];
}

export interface AppSearch {
  readonly id?: string | undefined;
  readonly kind?: 'installed' | 'by_url' | undefined;
  /** Only apps with an active credential, or only apps without one. */
  readonly access?: 'active' | 'none' | undefined;
  /** Part of the name or of the host. */
  readonly text?: string | undefined;
}

/** One page of the apps in the administrator's organization. */
export const pageOfApps = (
  db: Database,
  by: Administrator,
  { id = null, kind = null, access = null, text = null }: Nullable<AppSearch>,
  slice: Slice,
): Promise<ListPage<AppSummary>> =>
  readPage(
    db,
    by,
    sql`SELECT w.* FROM (
      SELECT a.id, a.name, a.created_at, a.switched_off, k.client_host, coalesce(k.active_credentials, 0) AS active_credentials, k.next_end,
             (SELECT count(*)::integer FROM gateway.consent n JOIN gateway.credential c ON c.id = n.credential_id
                JOIN gateway.installation i ON i.id = c.installation_id
               WHERE i.app_id = a.id AND n.revoked_at IS NULL AND n.expires_at > now()) AS active_consents,
             ARRAY(SELECT DISTINCT o FROM gateway.installation i JOIN gateway.credential c ON c.installation_id = i.id, unnest(c.write) AS o
                    WHERE i.app_id = a.id) AS writes
        FROM gateway.app a
        LEFT JOIN LATERAL (
          SELECT max(c.hosted_host) AS client_host, count(*) FILTER (WHERE c.revoked_at IS NULL AND c.expires_at > now())::integer AS active_credentials,
                 min(c.expires_at) FILTER (WHERE c.revoked_at IS NULL AND c.expires_at > now()) AS next_end
            FROM gateway.installation i JOIN gateway.credential c ON c.installation_id = i.id WHERE i.app_id = a.id) k ON true
       WHERE ${within(by, sql`a.tenant`)} AND (${id}::text IS NULL OR a.id = ${id})) w
     WHERE (${kind}::text IS NULL OR (w.client_host IS NOT NULL) = (${kind} = 'by_url'))
       AND (${access}::text IS NULL OR (w.active_credentials > 0) = (${access} = 'active'))
       AND ${mentions(text, [sql`w.name`, sql`coalesce(w.client_host, '')`])}`,
    slice,
  );

/** Changes an app's quota at once. A smaller burst also limits the units that are already in the bucket. */
export async function updateQuota(
  db: Database,
  id: string,
  { perMinute = null, burst = null }: Nullable<QuotaSettings>,
): Promise<void> {
  await db.query(sql`
    UPDATE gateway.app SET quota_per_minute = coalesce(${perMinute}::integer, quota_per_minute), burst = coalesce(${burst}::integer, burst)
     WHERE id = ${id}`);
}

/**
 * Switches operations of an app of the organization off and on, at once for every credential of the app
 * (05_apps.sql). Returns the operations that are off now. Undefined if the organization has no such app. A page offers
 * to switch off what is on, so for an administrator also undefined if somebody has switched the operation meanwhile.
 */
export async function switchOperations(
  db: Database,
  app: { readonly id: string; readonly tenant: string },
  { off, on }: { readonly off: readonly string[]; readonly on: readonly string[] },
  by?: Administrator,
): Promise<string[] | undefined> {
  const [row] = await db.query<{ switched_off: string[] }>(sql`
    WITH ${door(by)}switched AS (
      UPDATE gateway.app
         SET switched_off = ARRAY(SELECT DISTINCT o.name FROM unnest(switched_off || ${off}::text[]) AS o (name)
                                   WHERE o.name <> ALL (${on}::text[]) ORDER BY o.name)
       WHERE id = ${app.id} AND tenant = ${app.tenant} AND ${within(by, sql`app.tenant`)}
         AND ${by ? sql`NOT switched_off && ${off}::text[] AND switched_off @> ${on}::text[]` : sql`true`}
      RETURNING switched_off
    ) SELECT switched_off FROM switched`);
  return row?.switched_off;
}
