import { Failure } from '../../core/failures.ts';
import type { Page, PageRequest } from '../../core/reads.ts';
import { type Fragment, empty as NOTHING, raw, sql, unshared } from '../../core/sql.ts';
import type { Projection, View } from '../../core/view.ts';
import { wrongZone } from '../../views/report-range.ts';
import { sqlState } from '../driver/errors.ts';
import { listsUnderGuard, type Proof, type Proved, readLists } from './guard.ts';
import { type Keyset, keyset } from './keyset.ts';
import { projectionOf, type Row } from './projection.ts';
import { exists, linkTo, type RecordAccess, scope } from './read.ts';

/** A page ends when the stored bytes of its long texts exceed this number. */
const PAGE_BYTES = 524_288;
const ROWS = 101;
export const SEARCHED = 10_000;

/** The places of values in a row, between the value of the guard and those of the view. */
const FOUND = 1;
const NATIVE = 2;
const MOMENT = 3;
/** The columns `beside`: `long`, or `more`, or of a search `place` and `matches`. */
const BESIDE = 4;
const MATCHES = 5;

/**
 * Reads one page of a view. It ends early at PAGE_BYTES of long texts, or after SEARCHED rows of a search. Its cursor
 * continues after the last row that was read.
 */
export async function readPage<Name extends string>(
  access: RecordAccess,
  view: View<Name>,
  request: PageRequest,
): Promise<Proved<Page<Name>>> {
  const order = keyset(access.website, view, request);
  const { limit, search } = request;
  const read = (finding: RowFinder): Promise<FoundRows<Name>> => readRows(access, view, request, order, finding);
  const size = enough(limit);
  let found = await read(search ? searching(view, order, size, search) : plain(view, order, size));
  const weight = search ? undefined : view.weight;
  const weighs = weight !== undefined && found.rows[0]?.[BESIDE] === true;
  if (weighs) found = await read(weighing(view, order, size, weight));
  const { proof, present, rows, build } = found;
  if (!present) return { proof, answer: new Failure('not_found') };
  const shown = search ? rows.filter((row) => row[MATCHES] === true) : rows;
  const page = shown.slice(0, limit);
  // If a search has found too few rows, the next page continues after the last examined row.
  const last = search && shown.length <= limit ? rows.at(-1) : page.at(-1);
  const mark = last?.[BESIDE];
  const more = shown.length > limit || (search ? mark === String(SEARCHED) : weighs && mark === true);
  const next_cursor = last && more ? order.cursor(last[NATIVE], last[MOMENT]) : null;
  return { proof, answer: { rows: page.map(build), next_cursor } };
}

interface RowFinder {
  readonly beside: Fragment;
  /** Returns the FROM clause, with the alias of the view. `source` contains the table, the conditions and the order. */
  from(source: Fragment): Fragment;
  /** True if the column `long` says that the texts are too long for a page. They are then not read. */
  readonly unlessLong?: boolean;
}

interface FoundRows<Name extends string> {
  readonly proof: Proof;
  readonly present: boolean;
  readonly rows: readonly Row[];
  readonly build: (row: Row) => Projection<Name>;
}

async function readRows<Name extends string>(
  access: RecordAccess,
  view: View<Name>,
  request: PageRequest,
  order: Keyset,
  { beside, from, unlessLong }: RowFinder,
): Promise<FoundRows<Name>> {
  const { select, build } = projectionOf(access, view, unlessLong);
  const { alias } = view;
  const owner = request.within?.at(-1);
  const conditions = [
    ...(request.where ?? []),
    ...(owner ? [linkTo(access, view, owner)] : []),
    ...(order.after ? [order.after] : []),
  ];
  const source = sql`FROM ${raw(`${view.table} ${alias}`)}
       WHERE p.found AND ${scope(access, view, conditions)} ORDER BY ${order.by}`;
  const statement = listsUnderGuard(
    access.authority,
    sql`p.found, d.*`,
    sql`LEFT JOIN LATERAL (SELECT true AS found WHERE guard.ok AND ${exists(access, request.within ?? [])}) p ON true
    LEFT JOIN LATERAL (
      SELECT ${raw(alias)}.id AS native, ${order.key}${beside}, ${select} ${from(source)}) d ON true`,
  );
  const { proof, rows } = await readLists(access, request.alone ? unshared(statement) : statement).catch(
    (error: unknown) => {
      // PostgreSQL decides which time zones of local days are valid.
      throw request.zoned && sqlState(error) === '22023' ? wrongZone() : error;
    },
  );
  const present = rows[0]?.[FOUND] === true;
  return { proof, present, rows: rows[0]?.[NATIVE] === null ? [] : rows, build };
}

/**
 * Finds the next rows. Of a view with long texts, adds up their lengths, which PostgreSQL stores in the row, and reads
 * the texts only if they fit into a page. A page of 51 short messages takes as long as without the sum (0.32 ms). A page
 * with a text of 36 KB takes one statement in place of two, of 0.12 and 0.42 ms (27 November 2026).
 */
function plain({ alias: name, weight }: View, { by }: Keyset, limit: number): RowFinder {
  const size = raw(String(limit));
  if (weight === undefined) return { beside: NOTHING, from: (source) => sql`${source} LIMIT ${size}` };
  const alias = raw(name);
  return {
    unlessLong: true,
    beside: sql`, ${alias}.long`,
    from: (source) => sql`FROM (
        WITH page AS MATERIALIZED (SELECT ${alias}.* ${source} LIMIT ${size})
        SELECT page.*, (SELECT sum(octet_length(${raw(weight)})) FROM page ${alias}) > ${raw(String(PAGE_BYTES))} AS long
          FROM page) ${alias} ORDER BY ${by}`,
  };
}

/**
 * Finds the next rows until their texts exceed PAGE_BYTES. Always finds at least one row, if there are rows. PostgreSQL
 * stores a long text outside the row, but stores the length of the text in the row. The statement adds up the lengths
 * first and then selects columns from the remaining rows. So PostgreSQL reads only the texts that it sends.
 *
 * A page whose texts fit uses `plain`, because the running sum made a page of 50 messages 19 % slower (paired
 * measurement, 22 November 2026).
 */
function weighing({ alias: name }: View, { by }: Keyset, limit: number, weight: string): RowFinder {
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
 * Finds the matching rows among the next SEARCHED rows that the caller may see, so the end of a page reveals nothing
 * about other rows (check TN-04). The last row comes even without a match, to show that more can follow.
 */
function searching({ alias: name }: View, { by }: Keyset, limit: number, search: Fragment): RowFinder {
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
 * The number of rows to request: one row more than the page, rounded up to one of a few sizes. The SQL text contains
 * the number itself. If the number were a parameter, PostgreSQL would plan every call again, and would expect a tenth
 * of the website's rows. In a website of 4 million messages, lists with such a parameter took 1.6 to 1.9 times as long.
 * There are only a few sizes, because every connection prepares a statement for each size.
 */
const enough = (limit: number): number => [2, 11, 26, 51].find((size) => size > limit) ?? ROWS;
