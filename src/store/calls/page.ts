import { Failure } from '../../core/failures.ts';
import type { Page, PageRequest } from '../../core/reads.ts';
import { type Fragment, empty as NOTHING, raw, sql } from '../../core/sql.ts';
import type { Projection, View } from '../../core/view.ts';
import { guard } from './guard.ts';
import { type Keyset, keyset } from './keyset.ts';
import { projectionOf, type Row } from './projection.ts';
import { exists, guarded, linkTo, type ReadSession, scope } from './read.ts';

/** Stored bytes of long text after which a page ends. */
const PAGE_BYTES = 524_288;
/** Most rows that one statement reads. */
const ROWS = 101;
/** A page of texts up to this many bytes cannot exceed PAGE_BYTES. */
const SHORT = Math.floor(PAGE_BYTES / ROWS);
/** Most rows that one search examines. */
export const SEARCHED = 10_000;

/**
 * One page of a view. It ends early when its long texts exceed PAGE_BYTES, or when a search has examined SEARCHED rows.
 * Its cursor then continues from there.
 */
export async function readPage<Name extends string>(
  session: ReadSession,
  view: View<Name>,
  request: PageRequest,
): Promise<Page<Name>> {
  const order = keyset(session.website, view, request);
  const { limit } = request;
  if (request.search) {
    const found = await readRows(session, view, request, order, searching(view, order, enough(limit), request.search));
    const rows = found.rows.filter((row) => row['matches'] === true);
    // A search that found too few continues after the last row that it examined.
    const last = rows.length > limit ? rows[limit - 1] : found.rows.at(-1);
    const more = rows.length > limit || last?.['place'] === String(SEARCHED);
    return { rows: rows.slice(0, limit).map(found.build), next_cursor: last && more ? order.cursor(last) : null };
  }
  let found = await readRows(session, view, request, order, plain(view, enough(limit)));
  if (view.weight !== undefined && found.rows.some((row) => row['long'] === true))
    found = await readRows(session, view, request, order, weighing(view, order, enough(limit), view.weight));
  const rows = found.rows.slice(0, limit);
  const last = rows.at(-1);
  const more = found.rows.length > limit || last?.['more'] === true;
  return { rows: rows.map(found.build), next_cursor: last && more ? order.cursor(last) : null };
}

/** How the rows of a page are found. */
interface Finding {
  /** Columns besides those of the view. */
  readonly beside: Fragment;
  /** The rows under the view's alias, built from `source`: table, conditions and order. */
  from(source: Fragment): Fragment;
  /** Bytes of the longest text to read; `undefined` means all texts. */
  readonly longest?: number;
}

async function readRows<Name extends string>(
  session: ReadSession,
  view: View<Name>,
  request: PageRequest,
  order: Keyset,
  { beside, from, longest }: Finding,
): Promise<{ rows: Row[]; build: (row: Row) => Projection<Name> }> {
  const { select, build } = projectionOf(session, view, longest);
  const { alias } = view;
  const owner = request.within?.at(-1);
  const conditions = [
    ...(request.where ?? []),
    ...(owner ? [linkTo(session, view, owner)] : []),
    ...(order.after ? [order.after] : []),
  ];
  const source = sql`FROM ${raw(`${view.table} ${alias}`)}
       WHERE p.found AND ${scope(session, view, conditions)} ORDER BY ${order.by}`;
  const rows = await guarded<Row>(
    session,
    sql`p.found, d.* FROM ${guard(session.authority)}
    LEFT JOIN LATERAL (SELECT true AS found WHERE guard.ok AND ${exists(session, request.within ?? [])}) p ON true
    LEFT JOIN LATERAL (
      SELECT ${raw(alias)}.id AS native, ${order.key}${beside}, ${select} ${from(source)}) d ON true`,
  );
  if (rows[0]?.['found'] !== true) throw new Failure('not_found');
  return { rows: rows[0]['native'] === null ? [] : rows, build };
}

/** The next rows without long texts, and whether a row has one. */
const plain = ({ weight }: View, limit: number): Finding => ({
  beside: weight === undefined ? NOTHING : sql`, octet_length(${raw(weight)}) > ${raw(String(SHORT))} AS long`,
  from: (source) => sql`${source} LIMIT ${raw(String(limit))}`,
  ...(weight !== undefined && { longest: SHORT }),
});

/**
 * The next rows until their texts exceed PAGE_BYTES; at least one row. PostgreSQL stores the length of an out-of-line
 * text in its row, so a text that is not sent is not read. Columns are selected from the remaining rows only. A page
 * without a long text does not use this: the sum made a page of 50 messages 19 % slower (paired, 22 November 2026).
 */
function weighing({ alias: name }: View, { by }: Keyset, limit: number, weight: string): Finding {
  const alias = raw(name);
  return {
    beside: sql`, ${alias}.more`,
    from: (source) => sql`FROM (
        SELECT ${alias}.*, lead(true) OVER (ORDER BY ${by}) AS more,
               sum(octet_length(${raw(weight)})) OVER (ORDER BY ${by} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
          FROM (SELECT ${alias}.* ${source} LIMIT ${raw(String(limit))}) ${alias}) ${alias}
       WHERE coalesce(${alias}.before, 0) <= ${raw(String(PAGE_BYTES))} ORDER BY ${by}`,
  };
}

/**
 * The matching rows among the next SEARCHED ones, and the last of those, which says that there may be more. Only rows
 * that the caller may see are counted, so the end of a page reveals nothing about others (check TN-04).
 */
function searching({ alias: name }: View, { by }: Keyset, limit: number, search: Fragment): Finding {
  const alias = raw(name);
  return {
    beside: sql`, ${alias}.place, ${search} AS matches`,
    from: (source) => sql`FROM (
        SELECT ${alias}.*, row_number() OVER (ORDER BY ${by}) AS place
          FROM (SELECT ${alias}.* ${source} LIMIT ${raw(String(SEARCHED))}) ${alias}) ${alias}
       WHERE ${search} OR ${alias}.place = ${raw(String(SEARCHED))} ORDER BY ${by} LIMIT ${raw(String(limit))}`,
  };
}

/**
 * Rows to ask for: the page and one more, rounded up to a few sizes. The number is a literal, because with a parameter
 * PostgreSQL plans for a tenth of the website. It then plans every call again (lists took 1.6 to 1.9 times as long in a
 * website of 4 million messages). There are few sizes, because each text is prepared on every connection.
 */
const enough = (limit: number): number => [2, 11, 26, 51].find((size) => size > limit) ?? ROWS;
