import { empty, type Fragment, join, sql } from '../../core/sql.ts';
import { atPrimary, mayConsent, mayEnter } from '../calls/guard.ts';
import type { Database } from '../driver/postgres.ts';

/**
 * A signed-in owner or admin who administers one organization in the console. Functions of this folder take an optional
 * administrator. Without one, the command line calls, whose user has the whole store.
 */
export interface Administrator {
  /** SHA-256 of the session's secret. */
  readonly digest: Uint8Array;
  readonly personId: string;
  readonly tenant: string;
}

/** Seconds after a sign-in in which an administrator may make changes (extensions, E6). */
const FRESH = 900;

/** SQL that is true for a session `s` whose sign-in is recent enough for a change. */
export const isFresh = sql`s.created_at > now() - make_interval(secs => ${FRESH}::double precision)`;

const doorOf = (
  { digest, personId, tenant }: Administrator,
  more: Fragment,
  who: Fragment = mayConsent,
): Fragment => sql`door AS MATERIALIZED (
  SELECT p.tenant, p.id AS person, p.role FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
   WHERE s.digest = ${atPrimary(digest)} AND s.expires_at > now() AND p.id = ${personId}
     AND p.tenant = ${tenant}::bigint AND ${who} ${more})`;

/**
 * The first entry of the WITH list of a statement that changes something. It has a row only while the administrator has
 * the role and a recent sign-in, so the statement proves both itself. The lock makes sure that a change of the
 * administrator's role comes either before the statement or after it. Empty for the command line.
 */
export const door = (by: Administrator | undefined): Fragment =>
  by ? sql`${doorOf(by, sql`AND ${isFresh} FOR SHARE OF p`)}, ` : empty;

/** SQL condition: the organization is the administrator's. Always true for the command line. */
export const within = (by: Administrator | undefined, tenant: Fragment): Fragment =>
  by ? sql`${tenant} = (SELECT door.tenant FROM door)` : sql`true`;

/** SQL condition on the administrator's id (`door.person`) and `door.role`. Always true for the command line. */
export const where = (by: Administrator | undefined, condition: Fragment): Fragment =>
  by ? sql`EXISTS (SELECT FROM door WHERE ${condition})` : sql`true`;

/** A filter whose absent members are null, as SQL wants them. */
export type Nullable<Filter> = { readonly [K in keyof Filter]?: Filter[K] | null };

/** A page of a list. */
export interface Slice {
  readonly limit: number;
  readonly offset: number;
}

/** A list that can have millions of rows is counted to this number. Its filters find what lies behind. */
export const LIST_MAX = 10_000;

export interface ListPage<Row> {
  readonly rows: readonly Row[];
  /** The number of rows on all pages. 0 if the page lies behind the last row. LIST_MAX + 1 for more rows than LIST_MAX. */
  readonly total: number;
}

interface ReadPageOptions {
  readonly order?: Fragment;
  readonly long?: boolean;
  /** Approvers may read the page, too. Then `rows` has the condition `decides`. */
  readonly approvers?: boolean;
}

/**
 * Reads one page of `rows`, by default newest row first. `rows` selects at least `id` and `created_at`, and has the condition
 * `within`. So the statement proves the role itself, and has no rows when the administrator has lost it. A `long` list
 * is counted to LIST_MAX.
 */
export async function readPage<Row extends object>(
  db: Database,
  by: Administrator,
  rows: Fragment,
  { limit, offset }: Slice,
  { order = sql`r.created_at DESC`, long = false, approvers = false }: ReadPageOptions = {},
): Promise<ListPage<Row>> {
  const total = long
    ? sql`(SELECT count(*)::integer FROM (SELECT FROM (${rows}) c LIMIT ${LIST_MAX + 1}::integer) n)`
    : sql`(count(*) OVER ())::integer`;
  const found = await db.read<Row & { total: number }>(sql`
    WITH ${doorOf(by, empty, approvers ? mayEnter : mayConsent)}
    SELECT r.*, ${total} AS total FROM (${rows}) r
     ORDER BY ${order}, r.id DESC LIMIT ${limit}::integer OFFSET ${offset}::integer`);
  return { rows: found, total: found[0]?.total ?? 0 };
}

/** SQL condition: `text` is part of one of the columns, whatever the case. Null finds everything. */
export const mentions = (text: string | null, columns: readonly Fragment[]): Fragment =>
  text === null
    ? sql`true`
    : sql`(${join(
        columns.map((column) => sql`strpos(lower(${column}), lower(${text}::text)) > 0`),
        ' OR ',
      )})`;

/**
 * SQL condition: the administrator may decide about the writes of the credential `c`. An owner or admin decides about all
 * of the organization, and an approver about those of the credentials that name the approver.
 */
export const decides = (by: Administrator | undefined): Fragment =>
  by
    ? sql`((SELECT door.role FROM door) IN ('owner', 'admin')
           OR (c.revoked_at IS NULL AND c.approvers @> ARRAY[(SELECT door.person FROM door)]))`
    : sql`true`;

/** The WITH list of a statement without another entry. Approvers have a door, too, so the statement needs `decides`. */
export const doorOfDecision = (by: Administrator | undefined): Fragment =>
  by ? sql`WITH ${doorOf(by, sql`AND ${isFresh} FOR SHARE OF p`, mayEnter)}` : empty;

/** The WITH list of a statement that has no other entry. */
export const doorAlone = (by: Administrator | undefined): Fragment =>
  by ? sql`WITH ${door(by)}nothing AS (SELECT)` : empty;
