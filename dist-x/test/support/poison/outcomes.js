import { createHash } from 'node:crypto';
import { sentinelOf } from './as-lines.js';
import { CORPUS } from './corpus.js';
import { CATEGORIES } from './poison.js';
/** A table for the console: for each category, the number of items with each outcome. */
export function tableOf(door, outcomes, facts) {
    const rows = CATEGORIES.flatMap((category) => {
        const all = [...outcomes].filter(([item]) => item.category === category).map(([, outcome]) => outcome);
        const kinds = [...new Set(all)].sort();
        const told = kinds.map((kind) => `${all.filter((one) => one === kind).length} ${kind}`).join(', ');
        return all.length === 0 ? [] : [`  ${category.padEnd(9)} ${String(all.length).padStart(4)}  ${told}`];
    });
    const about = Object.entries(facts).map(([name, value]) => `${name} ${value}`);
    return [`${door}: ${outcomes.size} items; ${about.join(', ')}`, ...rows].join('\n');
}
/** Items whose sentinel is not in the organization. */
export async function unfollowed(sql, tenant, items) {
    const rows = await sql `
    SELECT text FROM platform.message WHERE tenant = ${tenant} AND text LIKE 'sentinel %' AND length(text) < 20`;
    const written = new Set(rows.map(({ text }) => text));
    return items.filter((item) => !written.has(sentinelOf(CORPUS.indexOf(item))));
}
/** `known` tells the outcome of an item that has no stored value. */
export async function outcomesOf(sql, tenant, items, placeOf, known) {
    const outcomes = new Map();
    const digests = new Map();
    for (const item of items) {
        const place = placeOf(CORPUS.indexOf(item), item);
        const outcome = known(item);
        if (outcome !== undefined)
            outcomes.set(item, outcome);
        else if (place === undefined)
            outcomes.set(item, 'taken');
        else {
            const { table, column, id } = place;
            const found = digests.get(`${table} ${column}`) ?? (await digestsOf(sql, table, column, tenant));
            digests.set(`${table} ${column}`, found);
            const own = createHash('md5').update(item.value).digest('hex');
            outcomes.set(item, !found.has(id) ? 'lost' : found.get(id) === own ? 'stored' : 'converted');
        }
    }
    return outcomes;
}
/** The digest of a column in each row of an organization, by external id. */
async function digestsOf(sql, table, column, tenant) {
    const rows = await sql.unsafe(`SELECT external_id AS id, md5(${column}::text) AS digest FROM platform.${table} WHERE tenant = ${tenant}`);
    return new Map(rows.map(({ id, digest }) => [id, digest]));
}
//# sourceMappingURL=outcomes.js.map