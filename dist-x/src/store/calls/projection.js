import { parseId } from '../../core/ids.js';
import { RESTRICTIONS } from '../../core/scopes.js';
import { join, raw, sql } from '../../core/sql.js';
import { seen } from '../../core/view.js';
/** The native ids of this website that a restriction permits. `undefined`: every id is permitted. */
export function permitted(authority, website, dimension) {
    const ids = authority.restrictions[dimension]?.map(parseId);
    return ids?.flatMap((id) => (id?.website === website.id ? [id.native] : []));
}
export function callerOf({ authority, website }, unlessLong = false) {
    const permits = (dimension, column) => {
        const ids = permitted(authority, website, dimension);
        return ids ? sql `${raw(column)} = ANY(${ids}::bigint[])` : YES;
    };
    return {
        grants: authority,
        permitted: (dimension) => permitted(authority, website, dimension),
        permits,
        unlessLong,
        // All restricted dimensions must permit the row. A row without a team, for example, is closed to a caller with a
        // list of teams.
        allowed: (alias) => {
            const conditions = RESTRICTIONS.flatMap((dimension) => authority.restrictions[dimension] ? [permits(dimension, `${alias}.${COLUMN[dimension]}`)] : []);
            return conditions.length === 0 ? YES : join(conditions, ' AND ');
        },
    };
}
const YES = sql `true`;
export const COLUMN = { channel_ids: 'channel_id', team_ids: 'team_id', subsite_ids: 'subsite_id' };
/**
 * How many columns are cached for a view and an authority: one for a website, or two if the view has long texts. An
 * authority can have thousands of websites.
 */
const COLUMNS = 50;
// Calls share the authority object while it is cached. The columns of a view depend on this object and on the key.
const known = new WeakMap();
function kept(all, key, make) {
    const before = all.get(key);
    if (before !== undefined)
        return before;
    const made = make();
    all.set(key, made);
    return made;
}
/**
 * Returns the columns of a view that a reader may see. With `unlessLong`, the column `long` decides whether texts are
 * read.
 */
export function projectionOf({ authority, website }, view, unlessLong = false) {
    const ofView = kept(known, view, () => new WeakMap());
    const ofReader = kept(ofView, authority, () => new Map());
    const key = unlessLong ? `${website.id} unless long` : website.id;
    if (ofReader.size >= COLUMNS && !ofReader.has(key))
        ofReader.clear();
    const columns = kept(ofReader, key, () => columnsOf({ authority, website }, view, unlessLong));
    return columns; // the cache stores these columns under the same view
}
function columnsOf(reader, view, unlessLong) {
    const places = new Map();
    const selected = [];
    const caller = callerOf(reader, unlessLong);
    const placeOf = (expression) => {
        const fragment = typeof expression === 'function' ? expression(caller) : expression;
        const key = JSON.stringify([fragment.texts, fragment.values]);
        const before = places.get(key);
        if (before !== undefined)
            return before;
        const place = places.size;
        places.set(key, place);
        selected.push(sql `${fragment} AS ${raw(`c${place}`)}`);
        return place;
    };
    const visible = new Map(seen(view, reader.authority));
    const members = Object.entries(view.fields).flatMap(([name, field]) => {
        if (visible.has(name))
            return [{ name, field, from: field.select.map(placeOf) }];
        return field.denied === 'null' ? [{ name, field: undefined, from: [] }] : [];
    });
    const context = { website: reader.website, grants: reader.authority };
    // What is the same in every record, with a place for each other member.
    const same = Object.fromEntries(members.map(({ name, field, from }) => [name, field && from.length === 0 ? field.build([], context) : null]));
    const built = members.flatMap(({ name, field, from }) => (field && from.length > 0 ? [{ name, field, from }] : []));
    if (selected.length === 0)
        selected.push(sql `1 AS c0`);
    return {
        select: join(selected, ', '),
        build: (row) => {
            const first = row.length - selected.length;
            const record = { ...same };
            for (const { name, field, from } of built)
                record[name] = field.build(from.map((place) => row[first + place]), context);
            return record;
        },
    };
}
//# sourceMappingURL=projection.js.map