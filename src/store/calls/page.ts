import { Failure } from '../../core/failures.ts';
import type { Page, PageRequest } from '../../core/reads.ts';
import { type Fragment, empty as NOTHING, raw, sql } from '../../core/sql.ts';
import type { Projection, View } from '../../core/view.ts';
import { guarded, type Proof, type Proved } from './guard.ts';
import { type Keyset, keyset } from './keyset.ts';
import { projectionOf, type Row } from './projection.ts';
import { exists, linkTo, scope, type WebsiteAccess } from './read.ts';

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
  access: WebsiteAccess,
  view: View<Name>,
  request: PageRequest,
): Promise<Proved<Page<Name>>> {
  const order = keyset(access.website, view, request);
  const { limit, search } = request;
  const read = (finding: Finding): Promise<Found<Name>> => readRows(access, view, request, order, finding);
  const size = enough(limit);
  let found = await read(search ? searching(view, order, size, search) : plain(view, size));
  if (!search && view.weight !== undefined && found.rows.some((row) => row['long'] === true))
    found = await read(weighing(view, order, size, view.weight));
  const { proof, present, rows, build } = found;
  if (!present) return { proof, answer: new Failure('not_found') };
  const shown = search ? rows.filter((row) => row['matches'] === true) : rows;
  const page = shown.slice(0, limit);
  // A search that found too few continues after the last row that it examined.
  const last = search && shown.length <= limit ? rows.at(-1) : page.at(-1);
  const more = shown.length > limit || (search ? last?.['place'] === String(SEARCHED) : last?.['more'] === true);
  return { proof, answer: { rows: page.map(build), next_cursor: last && more ? order.cursor(last) : null } };
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

interface Found<Name extends string> {
  readonly proof: Proof;
  /** Whether the record exists that the rows belong to. */
  readonly present: boolean;
  readonly rows: readonly Row[];
  readonly build: (row: Row) => Projection<Name>;
}

async function readRows<Name extends string>(
  access: WebsiteAccess,
  view: View<Name>,
  request: PageRequest,
  order: Keyset,
  { beside, from, longest }: Finding,
): Promise<Found<Name>> {
  const { select, build } = projectionOf(access, view, longest);
  const { alias } = view;
  const owner = request.within?.at(-1);
  const conditions = [
    ...(request.where ?? []),
    ...(owner ? [linkTo(access, view, owner)] : []),
    ...(order.after ? [order.after] : []),
  ];
  const source = sql`FROM ${raw(`${view.table} ${alias}`)}
       WHERE p.found AND ${scope(access, view, conditions)} ORDER BY ${order.by}`;
  const { proof, rows } = await guarded<Row>(
    access,
    sql`p.found, d.*`,
    sql`LEFT JOIN LATERAL (SELECT true AS found WHERE guard.ok AND ${exists(access, request.within ?? [])}) p ON true
    LEFT JOIN LATERAL (
      SELECT ${raw(alias)}.id AS native, ${order.key}${beside}, ${select} ${from(source)}) d ON true`,
  );
  const present = rows[0]?.['found'] === true;
  return { proof, present, rows: rows[0]?.['native'] === null ? [] : rows, build };
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
