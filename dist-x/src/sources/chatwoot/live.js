import { z } from 'zod';
import { raw, sql } from '../../core/sql.js';
import { PositionLost } from '../source.js';
import { PAGE_ROWS, RECORD_BYTES, sizesOf } from './desk.js';
import { KINDS } from './kinds.js';
import { fitting, placeIn } from './load.js';
import { attachmentCounts, pendingParents, tellAll } from './together.js';
const snapshot = z.string().regex(/^\d+:\d+:[\d,]*$/);
/**
 * A position in the outbox. The round reads what `to` sees and `from` does not, and has reached `seq`. `to` is null at
 * its start.
 */
const place = z.strictObject({ from: snapshot, to: snapshot.nullable(), seq: z.number() });
/** If a reader reads nothing for this time, it loses its entries and must start over with a comparison. */
const PATIENCE = `interval '7 days'`;
/** How many entries one statement deletes at most. */
const SWEEP = 20_000;
/** Only one reader deletes at a time. Two readers that delete the same entries in different orders could deadlock. */
const ALONE = sql `(SELECT pg_try_advisory_xact_lock(hashtextextended('gateway_outbox.change', 0)))`;
/** A condition for entries that `from` does not see. A late commit can give them small numbers. */
const unread = (from) => sql `x.xid >= pg_snapshot_xmin(${from}::pg_snapshot) AND NOT pg_visible_in_snapshot(x.xid, ${from}::pg_snapshot)`;
const forAccount = (account) => sql `(x.account_id = ${account}::bigint OR x.account_id IS NULL)`;
/** Registers the reader. From then on, an entry is kept until the reader has read it. */
export async function beginLive(db, reader) {
    const [row] = await db.query(sql `INSERT INTO gateway_outbox.reader AS r (name, snapshot) VALUES (${reader}, pg_current_snapshot())
        ON CONFLICT (name) DO UPDATE SET snapshot = EXCLUDED.snapshot, at = now() RETURNING r.snapshot::text AS snapshot`);
    if (row === undefined)
        throw new Error('Chatwoot did not register the reader of the outbox');
    return { from: row.snapshot, to: null, seq: 0 };
}
/**
 * Records how far the reader has read, and deletes the entries that all readers have read. A store restored from a
 * backup has an older position, whose next entries may already be deleted.
 */
async function keep(db, reader, from) {
    const [kept] = await db.query(sql `UPDATE gateway_outbox.reader SET snapshot = ${from}::pg_snapshot, at = now()
         WHERE name = ${reader} AND pg_snapshot_xmax(${from}::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot())
           AND pg_snapshot_xmin(snapshot) <= pg_snapshot_xmin(${from}::pg_snapshot)
        RETURNING true AS known`);
    if (kept === undefined)
        throw new PositionLost('the outbox of Chatwoot does not hold the entries since this place');
    await db.query(sql `DELETE FROM gateway_outbox.reader WHERE at < now() - ${raw(PATIENCE)}`);
    await db.query(sql `DELETE FROM gateway_outbox.change WHERE seq IN (
    SELECT seq FROM gateway_outbox.change
     WHERE xid < (SELECT pg_snapshot_xmin(snapshot) FROM gateway_outbox.reader ORDER BY pg_snapshot_xmin(snapshot) LIMIT 1)
       AND ${ALONE} LIMIT ${SWEEP}::integer)`);
}
/** Removes the reader. If no reader is left, deletes all entries. */
export async function forgetLive(db, reader) {
    await db.query(sql `DELETE FROM gateway_outbox.reader WHERE name = ${reader}`);
    for (let deleted = SWEEP; deleted === SWEEP;) {
        const [row] = await db.query(sql `WITH gone AS (DELETE FROM gateway_outbox.change WHERE seq IN (
        SELECT seq FROM gateway_outbox.change WHERE NOT EXISTS (SELECT FROM gateway_outbox.reader) AND ${ALONE}
         LIMIT ${SWEEP}::integer) RETURNING seq)
      SELECT count(*)::integer AS deleted FROM gone`);
        deleted = row?.deleted ?? 0;
    }
}
/** Ends the page where its long texts reach the limit. */
async function bounded(desk, entries) {
    const sizes = new Map();
    for (const kind of KINDS) {
        const ids = entries.filter((entry) => entry.kind === kind).map(({ id }) => id);
        for (const [id, bytes] of await sizesOf(desk, kind, ids))
            sizes.set(`${kind}/${id}`, bytes);
    }
    const blobs = entries.filter(({ kind }) => kind === 'blobs').map(({ id }) => id);
    for (const [id, rows] of await attachmentCounts(desk, blobs))
        sizes.set(`blobs/${id}`, rows * RECORD_BYTES);
    const counted = new Set();
    return fitting(entries, ({ kind, id }) => {
        const name = `${kind}/${id}`;
        if (counted.has(name))
            return 0;
        counted.add(name);
        return sizes.get(name) ?? 0;
    });
}
const isKind = (kind) => KINDS.some((one) => one === kind);
function wantedBy(entries) {
    const rows = new Map();
    const members = new Set();
    const blobs = new Set();
    for (const { kind, id } of entries) {
        if (kind === 'members')
            members.add(id);
        else if (kind === 'blobs')
            blobs.add(id);
        // Other kinds come from triggers of another version. The check of the source reports this.
        else if (isKind(kind))
            rows.set(kind, (rows.get(kind) ?? new Set()).add(id));
    }
    return { rows, members, blobs };
}
/** Reads one page of the outbox and tells the rows as they are now. */
export async function changesLive(desk, reader, after) {
    const { db, names } = desk;
    const { from, to, seq } = placeIn('the outbox', place, after);
    if (to === null)
        await keep(db, reader, from);
    const until = to === null ? sql `pg_current_snapshot()` : sql `${to}::pg_snapshot`;
    const found = await db.read(sql `WITH until AS MATERIALIZED (SELECT ${until} AS snapshot)
    SELECT u.snapshot::text AS to, e.* FROM until u LEFT JOIN LATERAL (
      SELECT x.seq::text AS seq, x.kind, x.id::text AS id FROM gateway_outbox.change x
       WHERE ${unread(from)} AND pg_visible_in_snapshot(x.xid, u.snapshot) AND x.seq > ${seq}::bigint
         AND ${forAccount(names.account)}
       ORDER BY x.seq LIMIT ${PAGE_ROWS}::integer) e ON true`);
    const reached = found[0]?.to ?? from;
    const all = found.flatMap(({ seq: at, kind, id }) => at === null || kind === null || id === null ? [] : [{ seq: at, kind, id }]);
    if (all.some(({ kind }) => kind === 'lost'))
        throw new PositionLost('the triggers of Chatwoot could not note a change');
    const entries = await bounded(desk, all);
    const more = all.length === PAGE_ROWS || entries.length < all.length;
    const told = await tellAll(desk, wantedBy(entries));
    // At the end of the outbox, a row can refer to a row that was written a moment ago. Report that row too.
    const changes = more ? told.changes : await pendingParents(desk, told, unread(from));
    const last = Number(entries.at(-1)?.seq ?? seq);
    const next = more ? { from, to: reached, seq: last } : { from: reached, to: null, seq: 0 };
    return { changes, after: next, more };
}
/** How many waiting entries are counted at most. */
const COUNTED = 100_000;
export async function behindLive(desk, after) {
    const { from, seq } = placeIn('the outbox', place, after);
    const [row] = await desk.db.read(sql `SELECT extract(epoch FROM clock_timestamp() - min(e.at))::text AS seconds, count(*)::text AS changes FROM (
      SELECT x.at FROM gateway_outbox.change x
       WHERE ${unread(from)} AND x.seq > ${seq}::bigint AND ${forAccount(desk.names.account)}
       ORDER BY x.seq LIMIT ${COUNTED}::integer) e`);
    return { seconds: Math.max(0, Number(row?.seconds ?? 0)), changes: Number(row?.changes ?? 0) };
}
//# sourceMappingURL=live.js.map