import { z } from 'zod';
import { raw, sql } from '../../core/sql.js';
import { PositionLost } from '../source.js';
import { changesOf, nameOf, PAGE_BYTES, PAGE_ROWS, recordsOf, rowsOf, weightOf } from './desk.js';
import { ID_MAX, KINDS } from './kinds.js';
/** How many ids one statement walks at most, so that many rows of other accounts cannot make it slow. */
const SPAN = 50_000;
const place = z.strictObject({ load: z.enum(KINDS), id: z.number() });
/** Reads a position that this source made. `what` names it for the operator. */
export function placeIn(what, shape, after) {
    const parsed = shape.safeParse(after);
    if (!parsed.success)
        throw new PositionLost(`the place in ${what} of Chatwoot cannot be read`);
    return parsed.data;
}
/** Returns as many of the first items as fit into the weight. One item always fits. */
export function fitting(items, bytesOf, limit = PAGE_BYTES) {
    let bytes = 0;
    const end = items.findIndex((item, i) => {
        bytes += bytesOf(item);
        return i > 0 && bytes > limit;
    });
    return end < 0 ? items : items.slice(0, end);
}
async function list(desk, kind, after) {
    const { key, from, own } = desk.queries[kind];
    const found = await desk.db.read(sql `SELECT ${raw(`${key}::text AS id, (${weightOf(desk.queries[kind])})::text AS bytes
  FROM ${from} WHERE ${own} AND ${key}`)} > ${after}::bigint AND ${raw(key)} <= ${Math.min(after + SPAN, ID_MAX)}::bigint
 ORDER BY ${raw(key)} LIMIT ${PAGE_ROWS}::integer`);
    const rows = fitting(found, (row) => Number(row.bytes));
    const ids = rows.map(({ id }) => id);
    if (rows.length < found.length || found.length === PAGE_ROWS)
        return { ids, next: Number(ids.at(-1)) };
    // Skip the ids that no row has. Otherwise a row with a huge id would stop the load.
    const [following] = await desk.db.read(sql `SELECT min(x.id)::text AS id FROM ${raw(desk.table(kind))} x WHERE x.id > ${after + SPAN}::bigint AND x.id <= ${ID_MAX}::bigint`);
    return { ids, next: typeof following?.id === 'string' ? Number(following.id) - 1 : undefined };
}
/** Reads one page of a load. All rows of a page are of one kind, in the order of their ids. A page can be empty. */
export async function load(desk, after) {
    const { load: kind, id } = placeIn('the load', place, after ?? { load: KINDS[0], id: 0 });
    const { ids, next } = await list(desk, kind, id);
    const rows = await rowsOf(desk, kind, ids);
    const made = await recordsOf(desk, kind, rows);
    const changes = [...made].flatMap(([row, records]) => changesOf(nameOf(kind, row), kind, records));
    const following = KINDS[KINDS.indexOf(kind) + 1];
    if (next !== undefined)
        return { changes, after: { load: kind, id: next }, more: true };
    if (following === undefined)
        return { changes, after: null, more: false };
    return { changes, after: { load: following, id: 0 }, more: true };
}
//# sourceMappingURL=load.js.map