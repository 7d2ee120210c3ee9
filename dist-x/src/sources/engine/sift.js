import { ADDRESSES } from './digests.js';
/**
 * When a staged record belongs to an erased person, by type. `h.places` has the places of the digests (digests.ts) that
 * gateway.suppression holds. A stored record belongs to somebody who was not erased, so only its own external_id counts.
 * A conversation that an erasure has still to clear is stored, too. gateway.erasure_unstage has the same rules.
 */
const STORED = (name) => `EXISTS (SELECT FROM platform.${name} x WHERE x.tenant = c.tenant AND x.external_id = c.external_id)`;
const UNDERWAY = `EXISTS (SELECT FROM gateway.erasure e
    JOIN platform.conversation x ON x.tenant = e.tenant AND x.site = e.site AND x.external_id = c.external_id
    JOIN gateway.erasure_work w ON w.erasure_id = e.id AND w.conversation_id = x.id
   WHERE e.finished_at IS NULL AND e.tenant = c.tenant)`;
const ALL_LINKS = `cardinality(c.links) > 0 AND (SELECT count(*) FROM unnest(h.places) AS p WHERE p > 2) >= cardinality(c.links)`;
const RULES = {
    contact: `1 = ANY (h.places) OR NOT ${STORED('contact')}`,
    visitor: `1 = ANY (h.places) OR cardinality(h.places) = cardinality(c.links) AND NOT ${STORED('visitor')}`,
    conversation: `1 = ANY (h.places) OR 2 = ANY (h.places) OR ${UNDERWAY}
    OR (c.refs[1] IS NULL OR ${ALL_LINKS}) AND NOT ${STORED('conversation')}`,
    message: 'true',
    file: 'true',
    note: 'true',
    ai_result: 'true',
};
/** The place before the first link among the digests. */
const LINKS = { visitor: 1, conversation: 2 };
/** Records of these types have dependents, which must be left out, too. */
const LEARNT = ['contact', 'visitor', 'conversation', 'message'];
/**
 * A stored contact keeps its own addresses, and gets none of an erased person. The places are those of ADDRESSES, after that
 * of the external_id.
 */
function kept({ stage }) {
    const columns = (...names) => {
        const places = names.map((name) => ADDRESSES.indexOf(name) + 2).join(',');
        const values = names.map((name) => `'${name}', x.${name}`).join(', ');
        return `CASE WHEN h.places && '{${places}}' THEN jsonb_build_object(${values}) ELSE '{}' END`;
    };
    return `, lent AS (
  UPDATE ${stage} s SET data = (s.data::jsonb || ${columns('email')}
      || ${columns('mobile', 'mobile_e164')} || ${columns('phone', 'phone_e164')})::json
    FROM hits h JOIN candidates c ON c.seq = h.seq
    JOIN platform.contact x ON x.tenant = c.tenant AND x.external_id = c.external_id
   WHERE s.type = 'contact' AND s.seq = h.seq AND 1 <> ALL (h.places)
)`;
}
/** The columns of the stage table that `sift` needs. */
export const digestColumn = ({ name }) => (RULES[name] === undefined ? '' : ', s.digests');
/**
 * Common table expressions that leave out the records of erased people: `placed` has the rows of `candidates` without
 * them, and `erased` has them. Links to erased contacts are dropped from other records.
 */
export function sift({ name }, place) {
    const { scope } = place;
    const rule = RULES[name];
    if (rule === undefined)
        return ', placed AS (SELECT * FROM candidates)';
    const links = LINKS[name];
    const others = links === undefined
        ? 'c.links'
        : `CASE WHEN h.seq IS NULL THEN c.links ELSE ARRAY(
           SELECT l.link FROM unnest(c.links) WITH ORDINALITY AS l (link, n) WHERE l.n + ${links} <> ALL (h.places) ORDER BY l.n) END`;
    return `, hits AS MATERIALIZED (
  SELECT c.seq, min(u.tenant) AS tenant, array_agg(d.place) AS places
    FROM candidates c CROSS JOIN LATERAL unnest(c.digests) WITH ORDINALITY AS d (digest, place)
    JOIN gateway.suppression u ON u.tenant = ANY (${scope}) AND u.digest = d.digest AND (c.tenant IS NULL OR u.tenant = c.tenant)
   GROUP BY c.seq
), erased AS MATERIALIZED (
  SELECT c.seq, h.tenant, c.digests[1] AS own FROM candidates c JOIN hits h ON h.seq = c.seq WHERE ${rule}
)${LEARNT.includes(name)
        ? `, learnt AS (
  INSERT INTO gateway.suppression (tenant, digest) SELECT DISTINCT e.tenant, e.own FROM erased e
  ON CONFLICT DO NOTHING
)`
        : ''}${name === 'contact' ? kept(place) : ''}, placed AS MATERIALIZED (
  SELECT c.seq, c.external_id, c.owner, c.at, c.refs, ${others} AS links, c.found, c.tenant, c.site, c.owner_id, c.owner_parent, c.newer
    FROM candidates c LEFT JOIN hits h ON h.seq = c.seq
   WHERE NOT EXISTS (SELECT FROM erased e WHERE e.seq = c.seq)
)`;
}
/** How many rows `sift` leaves out. */
export const suppressedCount = ({ name }) => RULES[name] === undefined ? '0' : 'SELECT count(*) FROM erased';
//# sourceMappingURL=sift.js.map