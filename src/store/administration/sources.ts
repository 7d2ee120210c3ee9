import { type Fragment, raw, sql } from '../../core/sql.ts';
import { MOVED } from '../calls/moved.ts';
import type { Database } from '../driver/postgres.ts';
import {
  type Administrator,
  doorAlone,
  LIST_MAX,
  type ListPage,
  mentions,
  type Nullable,
  readPage,
  type Slice,
  within,
} from './administrator.ts';

/** `removing`: its website is being deleted, and it goes with the website. */
export type SourceState = 'loading' | 'following' | 'paused' | 'failing' | 'removing';

export interface SourceRecord {
  readonly id: string;
  readonly tenant: string;
  readonly site: string | null;
  readonly kind: string;
  readonly account: string;
  readonly organization_id: string;
  readonly website_id: string | null;
  readonly mode: 'poll' | 'live';
  readonly period: number;
  readonly time_zone: string;
  readonly storage: string | null;
  /** Encrypted with the operator's keys. */
  readonly address: string;
  readonly writes_back: boolean;
  readonly state: SourceState;
  /** True while a gateway runs the source. */
  readonly held: boolean;
  readonly lag_seconds: number | null;
  readonly behind: number | null;
  readonly last_success_at: Date | null;
  readonly last_error: string | null;
  readonly progress: { readonly phase: string; readonly done: number; readonly total: number | null } | null;
  readonly compared_at: Date | null;
  readonly rejects: number;
  /** How often a record of an erased person was left out. */
  readonly suppressed: number;
  readonly unmapped: Readonly<Record<string, number>>;
  /** What the last check found. Use `findingsOf` to show it to an operator. */
  readonly findings: readonly { readonly level: string; readonly about: string; readonly text: string }[];
  /** Why the last comparison was given up. Null if it ended normally. */
  readonly compare_error: string | null;
  readonly created_at: Date;
}

/** Returns the findings of a stored source as an operator sees them. */
export const findingsOf = ({
  findings,
  compare_error: text,
}: Pick<SourceRecord, 'findings' | 'compare_error'>): SourceRecord['findings'] =>
  text === null ? findings : [...findings, { level: 'degraded', about: 'comparison', text }];

/** True if a source should run and no gateway runs it. A gateway takes a new source within a second. */
export const isAlone = ({ state, held, created_at }: SourceRecord): boolean =>
  !held && (state === 'loading' || state === 'following') && Date.now() - created_at.getTime() > 3_000;

/** How far the store is behind a source, in words. */
export const lagOf = ({ lag_seconds: seconds, behind }: SourceRecord): string =>
  seconds === null ? 'unknown' : `${Math.round(seconds)} s${behind === null ? '' : `, ${behind} changes wait`}`;

export interface NewSource
  extends Pick<SourceRecord, 'id' | 'tenant' | 'kind' | 'account' | 'mode' | 'period' | 'storage' | 'address'> {
  readonly timeZone: string;
  readonly apiUrl: string | null;
  readonly apiToken: string | null;
}

/** Finds the organization with this id or external_id, or creates one with this external_id. Returns its number. */
export async function takeOrganization(
  db: Database,
  organization: { readonly external_id: string; readonly name: string },
): Promise<{ tenant: string; external_id: string }> {
  const { external_id, name } = organization;
  const [row] = await db.query<{ tenant: string; external_id: string }>(sql`
    WITH found AS (
      SELECT tenant, external_id FROM platform.organization WHERE ${external_id} IN (external_id, public_id)
    ), added AS (
      INSERT INTO platform.organization (external_id, name)
      SELECT ${external_id}, ${name} WHERE NOT EXISTS (SELECT FROM found)
      ON CONFLICT DO NOTHING RETURNING tenant, external_id
    ) SELECT * FROM found UNION ALL SELECT * FROM added`);
  if (row === undefined) throw new Error('another command has created the same organization: run the command again');
  return row;
}

/** The organization of an administrator who may make changes now. */
export async function ownOrganization(
  db: Database,
  by: Administrator,
): Promise<{ tenant: string; external_id: string } | undefined> {
  const [row] = await db.query<{ tenant: string; external_id: string }>(sql`
    ${doorAlone(by)} SELECT o.tenant, o.external_id FROM platform.organization o WHERE ${within(by, sql`o.tenant`)}`);
  return row;
}

/** Inserts a source that no gateway runs for `seconds`. False if the organization already has one of this account. */
export async function insertSource(
  db: Database,
  source: NewSource,
  seconds: number,
  by?: Administrator,
): Promise<boolean> {
  const rows = await db.query(sql`
    ${doorAlone(by)} INSERT INTO gateway.source (id, tenant, kind, account, mode, period, time_zone, storage, address, api_url, api_token, lease_until)
    SELECT ${source.id}, ${source.tenant}::bigint, ${source.kind}, ${source.account}, ${source.mode}, ${source.period}::integer, ${source.timeZone},
           ${source.storage}::text, ${source.address}, ${source.apiUrl}::text, ${source.apiToken}::text,
           now() + make_interval(secs => ${seconds})
     WHERE ${within(by, sql`${source.tenant}::bigint`)}
    ON CONFLICT (tenant, kind, account) DO NOTHING RETURNING id`);
  return rows.length > 0;
}

/**
 * Stores which helpdesk the records of a website come from, if it has records. False if they come from another
 * helpdesk. A helpdesk whose identifier became readable is the same one.
 */
export async function keepInstallation(
  db: Database,
  { tenant, website }: { readonly tenant: string | number; readonly website: string },
  { account, identifier }: { readonly account: string; readonly identifier?: string | undefined },
): Promise<boolean> {
  const [row] = await db.query<{ same: boolean }>(sql`
    INSERT INTO gateway.source_installation AS i (tenant, site, account, installation)
    SELECT w.tenant, w.site, ${account}::text, ${identifier ?? null}::text FROM platform.website w
     WHERE w.tenant = ${tenant}::bigint AND w.external_id = ${website}
    ON CONFLICT (tenant, site) DO UPDATE SET installation = coalesce(i.installation, CASE WHEN i.account = excluded.account THEN excluded.installation END)
    RETURNING i.account = ${account}::text AND coalesce(i.installation = ${identifier ?? null}::text, true) AS same`);
  return row?.same ?? true;
}

/** Sets the website of a source. From then on, gateways can run the source. */
export async function startSource(db: Database, id: string, website: string): Promise<void> {
  await db.query(sql`
    UPDATE gateway.source s SET lease_until = '-infinity',
           site = (SELECT w.site FROM platform.website w WHERE w.tenant = s.tenant AND w.external_id = ${website})
     WHERE s.id = ${id}`);
}

/** Counts at most `most` rejected rows of a source. */
const view = (most: number | null): Fragment => sql`
      SELECT s.id, s.tenant, s.site, s.kind, s.account, o.public_id AS organization_id,
           'web_' || s.tenant || '_' || s.site AS website_id, s.mode, s.period, s.time_zone, s.storage, s.address,
           s.api_token IS NOT NULL AS writes_back, s.lease_until >= now() AS held,
           CASE WHEN s.removing_at IS NULL THEN gateway.source_state(s) ELSE 'removing' END AS state, gateway.source_lag(s) AS lag_seconds, s.behind::float8 AS behind, s.last_success_at, s.last_error, s.progress, s.compared_at,
           (SELECT count(*)::integer FROM (
             SELECT DISTINCT r.origin FROM gateway.source_reject r WHERE r.source = s.id LIMIT ${most}::bigint) r) AS rejects,
           s.suppressed::float8 AS suppressed, s.unmapped, s.created_at, s.findings, s.compare_error
      FROM gateway.source s JOIN platform.organization o ON o.tenant = s.tenant`;

export async function readSources(db: Database, id: string | null): Promise<SourceRecord[]> {
  return db.query<SourceRecord>(
    sql`${view(null)} WHERE ${id}::text IS NULL OR s.id = ${id} ORDER BY s.created_at, s.id`,
  );
}

export interface SourceSearch {
  readonly id?: string | undefined;
  readonly state?: SourceState | undefined;
  /** Part of the account or of the id of the website. */
  readonly text?: string | undefined;
}

/** One page of the sources in the administrator's organization. */
export const pageOfSources = (
  db: Database,
  by: Administrator,
  { id = null, state = null, text = null }: Nullable<SourceSearch>,
  slice: Slice,
): Promise<ListPage<SourceRecord>> =>
  readPage(
    db,
    by,
    sql`SELECT v.* FROM (${view(LIST_MAX + 1)} WHERE ${within(by, sql`s.tenant`)} AND (${id}::text IS NULL OR s.id = ${id})) v
     WHERE (${state}::text IS NULL OR v.state = ${state}) AND ${mentions(text, [sql`v.account`, sql`coalesce(v.website_id, '')`])}`,
    slice,
  );

/** The tables whose records a source can have. */
const COUNTED = [
  'channel',
  'team',
  'operator',
  'contact',
  'visitor',
  'conversation',
  'message',
  'file',
  'note',
  'saved_response',
] as const;

/** The number of stored records of a website by table. Counts at most `most` records of each table. */
export async function countRows(
  db: Database,
  tenant: string,
  site: string,
  most: number | null = null,
): Promise<Record<string, number>> {
  const counts = COUNTED.map(
    (table) => `'${table}', (SELECT count(*) FROM (
       SELECT FROM platform.${table} t WHERE t.tenant = w.tenant AND t.site = w.site LIMIT ${most ?? 'ALL'}) t)`,
  );
  const [row] = await db.read<{ rows: Record<string, number> }>(sql`
    SELECT json_build_object(${raw(counts.join(', '))}) AS rows
      FROM platform.website w WHERE w.tenant = ${tenant}::bigint AND w.site = ${site}::bigint`);
  return row?.rows ?? {};
}

export interface RejectRecord {
  readonly origin: string;
  readonly pointer: string;
  readonly code: string;
}

export const readRejects = (db: Database, id: string, limit: number): Promise<RejectRecord[]> =>
  db.read<RejectRecord>(sql`
    SELECT origin, pointer, code FROM gateway.source_reject WHERE source = ${id} ORDER BY at, origin, pointer LIMIT ${limit}`);

/** One page of the rejects of a source in the administrator's organization. */
export const pageOfRejects = (
  db: Database,
  by: Administrator,
  source: string,
  slice: Slice,
): Promise<ListPage<RejectRecord>> =>
  readPage(
    db,
    by,
    sql`SELECT r.origin, r.pointer, r.code, r.at AS created_at, r.origin || r.pointer AS id
          FROM gateway.source_reject r JOIN gateway.source s ON s.id = r.source
         WHERE r.source = ${source} AND ${within(by, sql`s.tenant`)}`,
    slice,
    { long: true },
  );

/**
 * Pauses or starts a source. Pausing takes the lease from the gateway that runs it. Starting also starts a source whose
 * first load took too long. A source that is being removed stays as it is.
 */
export async function pauseSource(db: Database, id: string, paused: boolean, by?: Administrator): Promise<boolean> {
  const rows = await db.query(sql`
    ${doorAlone(by)} UPDATE gateway.source SET paused = ${paused}, epoch = epoch + 1, lease_until = '-infinity', holder = NULL,
           last_error = CASE WHEN ${paused} THEN last_error END, failures = 0, retry_at = NULL
     WHERE id = ${id} AND removing_at IS NULL AND (paused <> ${paused} OR NOT ${paused}::boolean AND retry_at = 'infinity') AND ${within(by, sql`tenant`)} RETURNING id`);
  return rows.length > 0;
}

/**
 * The time of a request for a comparison. It is later than the start of every earlier comparison, also after PostgreSQL's
 * clock went back. Otherwise the request would count as done.
 */
export const ASKED: Fragment = sql`greatest(now(), compare_began + interval '1 microsecond')`;

/** Asks for a comparison of the whole source. Returns the time of this request, by the clock of the store. */
export async function askComparison(db: Database, id: string, by?: Administrator): Promise<Date | undefined> {
  const [row] = await db.query<{ at: Date }>(sql`
    ${doorAlone(by)} UPDATE gateway.source SET compare_asked = ${ASKED}
     WHERE id = ${id} AND ${within(by, sql`tenant`)} RETURNING compare_asked AS at`);
  return row?.at;
}

export async function compareAll(db: Database): Promise<void> {
  await db.query(sql`UPDATE gateway.source SET compare_asked = ${ASKED} WHERE tenant NOT IN (${MOVED})`);
}
