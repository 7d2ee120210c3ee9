import { type Fragment, raw, sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';

export interface Candidate {
  readonly ref: string;
  readonly id: string;
  readonly tenant: string;
  readonly site: string;
  readonly name: string;
  readonly of: string;
}

const BELONGING = { channel: 'chn', team: 'tem', subsite: 'sst', operator: 'opr' } as const;
export type BelongingKind = keyof typeof BELONGING;

const names = (refs: readonly string[]): Fragment => sql`unnest(${[...new Set(refs)]}::text[]) AS r (ref)`;

export const findOrganizations = (db: Database, refs: readonly string[]): Promise<Candidate[]> =>
  db.query<Candidate>(sql`
    SELECT r.ref, o.public_id AS id, o.tenant, 0::bigint AS site, o.name, 'external_id ' || o.external_id AS of
      FROM ${names(refs)} JOIN platform.organization o ON r.ref IN (o.public_id, o.external_id) ORDER BY o.tenant`);

/** Finds websites in all organizations, because an external_id is unique only within an organization. */
export const findWebsites = (db: Database, refs: readonly string[]): Promise<Candidate[]> =>
  db.query<Candidate>(sql`
    SELECT r.ref, 'web_' || w.tenant || '_' || w.site AS id, w.tenant, w.site, w.name, 'organization ' || o.external_id AS of
      FROM ${names(refs)}
      JOIN platform.website w ON r.ref = w.external_id OR r.ref = 'web_' || w.tenant || '_' || w.site
      JOIN platform.organization o ON o.tenant = w.tenant ORDER BY w.tenant, w.site`);

export async function findBelonging(
  db: Database,
  kind: BelongingKind,
  tenant: string,
  refs: readonly string[],
): Promise<Candidate[]> {
  const id = raw(`'${BELONGING[kind]}_' || x.tenant || '_' || x.site || '_' || x.id`);
  return db.query<Candidate>(sql`
    SELECT r.ref, ${id} AS id, x.tenant, x.site, coalesce(x.name, '') AS name, 'website web_' || x.tenant || '_' || x.site AS of
      FROM ${names(refs)}
      JOIN platform.${raw(kind)} x ON x.tenant = ${tenant} AND (r.ref = x.external_id OR r.ref = ${id})
     ORDER BY x.site, x.id`);
}

export const findApps = (db: Database, refs: readonly string[]): Promise<Candidate[]> =>
  db.query<Candidate>(sql`
    SELECT r.ref, a.id, a.tenant, 0::bigint AS site, a.name, 'organization ' || o.external_id AS of
      FROM ${names(refs)} JOIN gateway.app a ON r.ref IN (a.id, a.name)
      JOIN platform.organization o ON o.tenant = a.tenant ORDER BY a.created_at, a.id`);

export const findInstallations = (db: Database, refs: readonly string[]): Promise<Candidate[]> =>
  db.query<Candidate>(sql`
    SELECT r.ref, i.id, a.tenant, 0::bigint AS site, a.name, 'app ' || a.id AS of
      FROM ${names(refs)} JOIN gateway.installation i ON true
      JOIN gateway.app a ON a.id = i.app_id AND r.ref IN (i.id, a.id, a.name) ORDER BY i.created_at, i.id`);

/** Fails with GW421 and a sentence for the operator if the organization lives in another cell. `of`: its id or number. */
export async function requireHere(
  db: Database,
  of: { readonly id: string } | { readonly tenant: string },
): Promise<void> {
  const which = 'id' in of ? sql`o.public_id = ${of.id}` : sql`o.tenant = ${of.tenant}`;
  await db.query(sql`SELECT gateway.refuse_moved(o.tenant) FROM platform.organization o WHERE ${which}`);
}
