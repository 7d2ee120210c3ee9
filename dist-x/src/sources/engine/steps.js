import { empty, raw, sql } from '../../core/sql.js';
export const lease = ({ place }) => sql `lease AS MATERIALIZED (SELECT ${place.lease})`;
/** The end of a step's statement. Records progress and counts in the same transaction as the data. */
export function progress(bounds, step, type, counts) {
    const { written = '0', unchanged = '0', removed = '0', rejected = '0', suppressed = '0' } = counts;
    const { place, high, last } = bounds;
    const quoted = type === undefined ? 'NULL' : `'${type}'`;
    const recorded = place.progress({ step, high, last, type: quoted, counts: [written, unchanged, removed, rejected] });
    const left = suppressed === '0' ? empty : sql `, ${raw(place.suppressed(step, quoted, suppressed))}`;
    return sql `SELECT ${recorded}, ${raw(`(${written})::float8 AS written`)}${left}`;
}
/**
 * Returns common table expressions for the table `judged`. They turn each row with a verdict ('code pointer') into a
 * reject, unless the row repeats a record exactly. If a load continues, it can read a changed row again. Then the older
 * version is not a reject.
 */
export const rejecting = (place, type, judged = 'judged') => raw(`refused AS MATERIALIZED (
    SELECT j.seq, j.verdict, s.file, s.line, s.origin,
           j.newer IS NOT NULL AND j.verdict LIKE 'duplicate_record %' AND ${place.live
    ? 'true'
    : `(s.owner, s.refs, s.links, s.data::text)
             IS NOT DISTINCT FROM (n.owner, n.refs, n.links, n.data::text)`} AS repeated
      FROM ${judged} j
      CROSS JOIN LATERAL (SELECT * FROM ${place.stage} s WHERE s.type = '${type}' AND s.seq = j.seq OFFSET 0) s
      LEFT JOIN LATERAL (SELECT * FROM ${place.stage} n WHERE n.type = '${type}' AND n.seq = j.newer OFFSET 0) n ON true
     WHERE j.verdict IS NOT NULL
  ), reported AS (
    INSERT INTO ${place.reject} (seq, place, file, line, origin, code, pointer)
    SELECT seq, 0, file, line, origin, split_part(verdict, ' ', 1), split_part(verdict, ' ', 2) FROM refused WHERE NOT repeated
  )`);
export const REFUSED = 'SELECT count(*) FROM refused WHERE NOT repeated';
export const REPEATED = 'SELECT count(*) FROM refused WHERE repeated';
//# sourceMappingURL=steps.js.map