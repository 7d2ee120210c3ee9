import { z } from 'zod';
import { raw, sql } from '../../core/sql.ts';
import { PositionLost } from '../lost.ts';
import type { Page, Position } from '../source.ts';
import { changesOf, type Desk, nameOf, PAGE_BYTES, PAGE_ROWS, recordsOf, rowsOf, weightOf } from './desk.ts';
import { ID_MAX, KINDS, type Kind } from './kinds.ts';

/** The largest number of ids that one statement walks. The limit bounds its time if most rows are of other accounts. */
const SPAN = 50_000;

const place = z.strictObject({ load: z.enum(KINDS), id: z.number() });

/** Returns the first items that weigh at most so many bytes together. One item always fits. */
export function fitting<Item>(
  items: readonly Item[],
  bytesOf: (item: Item) => number,
  limit = PAGE_BYTES,
): readonly Item[] {
  let bytes = 0;
  const end = items.findIndex((item, i) => {
    bytes += bytesOf(item);
    return i > 0 && bytes > limit;
  });
  return end < 0 ? items : items.slice(0, end);
}

interface Listed {
  readonly ids: readonly string[];
  /** The id to continue after. Undefined after the last row of the kind. */
  readonly next: number | undefined;
}

async function list(desk: Desk, kind: Kind, after: number): Promise<Listed> {
  const { key, from, own } = desk.queries[kind];
  const found = await desk.db.read<{
    id: string;
    bytes: string;
  }>(sql`SELECT ${raw(`${key}::text AS id, (${weightOf(desk.queries[kind])})::text AS bytes
  FROM ${from} WHERE ${own} AND ${key}`)} > ${after}::bigint AND ${raw(key)} <= ${Math.min(after + SPAN, ID_MAX)}::bigint
 ORDER BY ${raw(key)} LIMIT ${PAGE_ROWS}::integer`);
  const rows = fitting(found, (row) => Number(row.bytes));
  const ids = rows.map(({ id }) => id);
  if (rows.length < found.length || found.length === PAGE_ROWS) return { ids, next: Number(ids.at(-1)) };
  // A jump over the ids that no row has keeps a row with a huge id from stopping the load.
  const [following] = await desk.db.read<{ id: string | null }>(
    sql`SELECT min(x.id)::text AS id FROM ${raw(desk.table(kind))} x WHERE x.id > ${after + SPAN}::bigint AND x.id <= ${ID_MAX}::bigint`,
  );
  return { ids, next: typeof following?.id === 'string' ? Number(following.id) - 1 : undefined };
}

/** Reads one page of a load. All rows of a page are of one kind, in the order of their ids. A page can be empty. */
export async function load(desk: Desk, after: Position | null): Promise<Page> {
  const parsed = place.safeParse(after ?? { load: KINDS[0], id: 0 });
  if (!parsed.success) throw new PositionLost('the place in the load of Chatwoot cannot be read');
  const { load: kind, id } = parsed.data;
  const { ids, next } = await list(desk, kind, id);
  const rows = await rowsOf(desk, kind, ids);
  const made = await recordsOf(desk, kind, rows);
  const changes = [...made].flatMap(([row, records]) => changesOf(nameOf(kind, row), kind, records));
  const following = KINDS[KINDS.indexOf(kind) + 1];
  if (next !== undefined) return { changes, after: { load: kind, id: next }, more: true };
  if (following === undefined) return { changes, after: null, more: false };
  return { changes, after: { load: following, id: 0 }, more: true };
}
