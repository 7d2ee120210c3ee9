import { isRestricted } from '../../core/authority.js';
import { Failure } from '../../core/failures.js';
import { nativeIn } from '../../core/ids.js';
import { compiled, join, raw, sql, withValue } from '../../core/sql.js';
import { listsUnderGuard, readLists } from './guard.js';
import { callerOf, projectionOf } from './projection.js';
const YES = sql `true`;
/** SQL conditions for the rows of `view` that exist for this caller, without the condition on the id. */
export function scope(reader, view, extra = []) {
    const { authority, website } = reader;
    const { alias } = view;
    return join([
        sql `${raw(alias)}.tenant = ${website.tenant} AND ${raw(alias)}.site = ${website.site}`,
        ...(view.visible ? [view.visible] : []),
        ...(view.reachable && isRestricted(authority) ? [view.reachable(callerOf(reader))] : []),
        ...extra,
    ], ' AND ');
}
/** Returns the native id from a public id. Throws `not_found` when the public id belongs to another website. */
export function nativeId({ website }, view, id) {
    const found = nativeIn(website, view.id, id);
    if (found === undefined)
        throw new Failure('not_found');
    return found;
}
/** SQL: true if the record with this native id exists for the caller, otherwise null. `native` can be a column. */
export const visible = (reader, view, native) => sql `(SELECT true FROM ${raw(`${view.table} ${view.alias}`)} WHERE ${raw(view.alias)}.id = ${native} AND ${scope(reader, view)})`;
/** SQL: true if every record of a chain exists for the caller and belongs to the record before it. */
export function exists(reader, chain) {
    const links = chain.map(({ view, id, where }, i) => {
        const before = chain[i - 1];
        const link = before ? [linkTo(reader, view, before)] : [];
        const native = nativeId(reader, view, id);
        return sql `EXISTS (SELECT 1 FROM ${raw(`${view.table} ${view.alias}`)}
      WHERE ${raw(view.alias)}.id = ${native} AND ${scope(reader, view, [...link, ...(where ?? [])])})`;
    });
    return links.length === 0 ? YES : join(links, ' AND ');
}
export function linkTo(reader, view, owner) {
    const link = view.within?.[owner.view.name];
    if (!link)
        throw new Error(`${view.name} does not say how it belongs to ${owner.view.name}`);
    return link(nativeId(reader, owner.view, owner.id), reader.website);
}
/** Stands for the id of the record in a statement that is kept. No caller can send a NUL. */
const ID = '\0id';
/** The statements that read a record by its id alone. The columns of a caller are kept, so its statement can be, too. */
const points = new WeakMap();
export async function readOne(access, view, id, options = {}) {
    const columns = projectionOf(access, view);
    const native = nativeId(access, view, id);
    const owner = options.within?.at(-1);
    const conditions = [...(options.where ?? []), ...(owner ? [linkTo(access, view, owner)] : [])];
    const statementFor = (one) => listsUnderGuard(access.authority, sql `d.*`, sql `LEFT JOIN LATERAL (
      SELECT true AS present, ${columns.select} FROM ${raw(`${view.table} ${view.alias}`)}
       WHERE guard.ok AND ${options.within ? exists(access, options.within) : YES}
         AND ${raw(view.alias)}.id = ${one} AND ${scope(access, view, conditions)}
    ) d ON true`);
    let statement;
    if (options.within || options.where)
        statement = statementFor(native);
    else {
        const kept = points.get(columns) ?? compiled(statementFor(ID));
        points.set(columns, kept);
        statement = withValue(kept, ID, native);
    }
    const { proof, rows } = await readLists(access, statement);
    const [row] = rows;
    // The first value is that of the guard.
    return { proof, answer: row?.[1] === true ? columns.build(row) : new Failure('not_found') };
}
//# sourceMappingURL=read.js.map