import { join, raw, sql } from '../../core/sql.js';
import { auditRows, isWebsite, pageOf, } from '../calls/audit-records.js';
/** The records of a statement of an operator. */
const ROWS = 1_000;
/** Reads one page of records, of an organization, a credential or a person. `limit` is at most 1,000. */
async function readAuditPage(db, filter, { limit, after, order = 'newest', }) {
    const shown = Math.min(limit, ROWS);
    return pageOf(await db.query(auditRows(filter, { order, after, rows: shown + 1 })), shown);
}
/** The pages of all records that match, one organization after the other. Holds only one page. */
export async function* auditPages(db, filter, order) {
    for (const source of await sourcesOf(db, filter))
        yield* pagesOf(db, source, order);
}
async function* pagesOf(db, source, order, limit = ROWS) {
    let after;
    do {
        const { rows, next } = await readAuditPage(db, source, { limit, after, order });
        if (rows.length > 0)
            yield rows;
        after = next;
    } while (after !== undefined);
}
/** The newest records that match, at most `limit` of them. Reads until it has found them, or has seen all records. */
export async function newestAudit(db, filter, limit) {
    const newest = [];
    for (const source of await sourcesOf(db, filter)) {
        let found = 0;
        for await (const rows of pagesOf(db, source, 'newest', limit)) {
            newest.push(...rows);
            found += rows.length;
            if (found >= limit)
                break;
        }
    }
    return newest.sort(newestFirst).slice(0, limit);
}
/** Statements that a search sends. Each looks at a bounded number of records. */
const STATEMENTS = 20;
/** Statements for one source. */
const FOR_ONE = 5;
/**
 * The newest records of an organization behind `after` that match, at most `limit` of them. Unlike `newestAudit`, the
 * search is bounded: if matches are rare, `next` says where it goes on, and there can be fewer records before that place.
 */
export async function searchAudit(db, filter, { limit, after }) {
    const split = await sourcesOf(db, filter);
    // Many sources have no common progress within a few statements. The records of the organization have.
    const sources = split.length > STATEMENTS ? [{ ...filter, credential: undefined }] : split;
    let spare = STATEMENTS - sources.length;
    let found = [];
    let horizon;
    for (const source of sources) {
        let [next, seen] = [after, 0];
        for (let n = 0; n < FOR_ONE && seen <= limit && (n === 0 || spare-- > 0); n++) {
            const page = await readAuditPage(db, source, { limit: limit + 1 - seen, after: next });
            found = [...found, ...page.rows].sort(newestFirst).slice(0, limit + 1);
            seen += page.rows.length;
            next = page.next;
            // What lies behind the horizon, or behind a full page of newer records, is not shown.
            const full = found[limit];
            if (!next || (horizon && isBehind(next, horizon)) || (full && isBehind(next, placeOf(full))))
                break;
        }
        // Before the newest of these places, every source has been searched.
        if (next && (!horizon || isBehind(horizon, next)))
            horizon = next;
    }
    const rows = found.filter((row) => !horizon || !isBehind(placeOf(row), horizon));
    const last = rows[limit - 1];
    return { rows: rows.slice(0, limit), next: rows.length > limit && last ? placeOf(last) : horizon };
}
/**
 * Milliseconds after which an export ends with what it has found. A part whose end is known was searched before, in the
 * shorter time. It gets more, so that it is whole also on a busier machine.
 */
const SEARCHING = 10_000;
const SEARCHING_PART = 15_000;
/**
 * The newest records of an organization behind `after` that match, as many as one file has. Repeats the bounded search
 * until it has `limit` records, has reached the place `until`, or has no time left. `next` says where it goes on.
 */
export async function exportAudit(db, filter, { limit, after, until, within = until ? SEARCHING_PART : SEARCHING }) {
    const end = performance.now() + within;
    const from = until ? new Date(until.at).toISOString() : filter.from;
    const rows = [];
    let next = after;
    do {
        const page = await searchAudit(db, { ...filter, from }, { limit: limit - rows.length, after: next });
        for (const row of page.rows)
            if (!until || !isBehind(placeOf(row), until))
                rows.push(row);
        next = page.next;
    } while (next && rows.length < limit && performance.now() < end);
    return { rows, next: until && next && !isBehind(until, next) ? undefined : next };
}
const placeOf = ({ at, id }) => ({ at: at.getTime(), id });
const isBehind = (one, other) => one.at < other.at || (one.at === other.at && one.id < other.id);
const newestFirst = (a, b) => b.at.getTime() - a.at.getTime() || (a.id < b.id ? 1 : -1);
/**
 * Splits a filter into filters that an index can answer in order: of a person, of a credential or of an organization.
 */
async function sourcesOf(db, filter) {
    const { organization, app, credential, person, target, from = null } = filter;
    if (credential !== undefined || person !== undefined)
        return [filter];
    const idsOf = async (statement) => (await db.query(statement)).map(({ id }) => id);
    if (app !== undefined) {
        const credentials = sql `
      SELECT c.id FROM gateway.credential c JOIN gateway.installation i ON i.id = c.installation_id WHERE i.app_id = ${app}
       ORDER BY 1`;
        return (await idsOf(credentials)).map((id) => ({ ...filter, credential: id }));
    }
    if (target !== undefined && !isWebsite(target)) {
        const named = naming(target, sql `coalesce(${from}::timestamptz, '-infinity')`);
        const callers = sql `SELECT DISTINCT a.credential_id AS id FROM (${named}) a ORDER BY 1`;
        return (await idsOf(callers)).map((id) => ({ ...filter, credential: id }));
    }
    if (organization !== undefined)
        return [filter];
    // Looks up the next organization in the indexes, instead of reading all records.
    const next = (condition) => sql `(SELECT min(n.id) FROM (
    SELECT min(a.organization_id) AS id FROM gateway.audit a WHERE ${condition}
    UNION ALL SELECT min(a.organization_id) FROM gateway.audit_block a WHERE ${condition}) n)`;
    const organizations = sql `
    WITH RECURSIVE o (id) AS (
      SELECT ${next(sql `true`)} UNION ALL SELECT ${next(sql `a.organization_id > o.id`)} FROM o WHERE o.id IS NOT NULL)
    SELECT o.id FROM o WHERE o.id IS NOT NULL`;
    return (await idsOf(organizations)).map((id) => ({ ...filter, organization: id ?? '' }));
}
/** SQL: the callers of all records since a time that name a target. Only the indexes of targets are read. */
const naming = (target, since) => join([
    ...[1, 2, 3].map((n) => sql `SELECT a.credential_id, a.person_id, 1 AS calls, CASE a.outcome WHEN 'ok' THEN 0 ELSE 1 END AS failed,
               a.time AS first_at, a.time AS last_at
          FROM gateway.audit a WHERE ${raw(`a.targets[${n}]`)} = ${target} AND a.time >= ${since}`),
    // Of records in blocks. The block in which the time lies counts as a whole.
    sql `SELECT t.credential_id, t.person_id, t.calls, t.failed, t.time + t.first_ms * interval '1 millisecond',
               t.time + t.last_ms * interval '1 millisecond'
          FROM gateway.audit_target t WHERE t.target = ${target} AND t.time >= date_trunc('second', ${since}, 'UTC')`,
], ' UNION ALL ');
/**
 * Finds the apps and people whose calls named a record in the last `days` days, or whose calls answered with this record
 * alone. Most calls come first. Reads only the indexes of targets. `organization` is a public id.
 *
 * Calls that showed the record in a list, or that named only its conversation or visitor, do not count.
 */
export async function readAuditReaders(db, { target, days, organization = null }) {
    const named = naming(target, sql `now() - ${days}::integer * interval '1 day'`);
    return db.query(sql `
    WITH r AS MATERIALIZED (
      SELECT a.credential_id, a.person_id, sum(a.calls - a.failed)::integer AS calls, sum(a.failed)::integer AS failed,
             min(a.first_at) AS first_at, max(a.last_at) AS last_at
        FROM (${named}) a GROUP BY 1, 2)
    SELECT o.public_id AS organization_id, p.id AS app_id, p.name AS app_name, r.credential_id, r.person_id, h.email,
           r.calls, r.failed, r.first_at, r.last_at
      FROM r
      LEFT JOIN gateway.credential c ON c.id = r.credential_id
      LEFT JOIN gateway.installation i ON i.id = c.installation_id
      LEFT JOIN gateway.app p ON p.id = i.app_id
      LEFT JOIN gateway.person h ON h.id = r.person_id
      LEFT JOIN platform.organization o ON o.tenant = coalesce(p.tenant, h.tenant)
     WHERE ${organization}::text IS NULL OR o.public_id = ${organization}
     ORDER BY r.calls DESC, r.last_at DESC, r.credential_id, r.person_id`);
}
//# sourceMappingURL=audit-records.js.map