import { z } from 'zod';
import { raw, sql } from '../../core/sql.js';
import { PAGE_BYTES, PAGE_ROWS, sizesOf } from './desk.js';
import { filter, RECORDS } from './kinds.js';
import { fitting, placeIn } from './load.js';
import { idOf } from './map.js';
import { isSmall, isTimed, nextIds, SMALL } from './poll-changed.js';
import { idsOf, idsShape, isCut, KINDS_BY_TIME, least, limits, newest, withSlack } from './poll-ids.js';
import { unknownOf } from './poll-known.js';
import { allOf, tellAll } from './together.js';
const ROUND = [...SMALL, 'users', ...KINDS_BY_TIME];
/** How many seconds the clock of Chatwoot's application may be behind the clock of its database. */
const OVERLAP = 60;
/** How far back the first round looks, in seconds. Transactions that began so long ago can still commit. */
const BEFORE = 600;
/** How long an open transaction widens the window, in milliseconds. After that, polling no longer waits for it. */
const OLDEST = 3_600_000;
const MARKS = 100;
/** If there are more users, polling does not look for deleted users. Then only the nightly comparison finds them. */
const USERS = 5_000;
/** A time, the newest ids at that time, and the number of a transaction that began then. */
const mark = z.strictObject({ at: z.string(), next: z.string(), ids: idsShape });
const round = z.strictObject({
    /** The time at which the window of the round starts. */
    low: z.string(),
    /** The round also reports rows whose ids are larger than these. */
    from: idsShape,
    /** The start ids of the round after the next one. */
    settled: idsShape,
    /** Earlier rounds reported rows up to these ids. */
    reached: idsShape,
    /** Marks of earlier times, oldest first. */
    marks: z.array(mark),
    /** The operators of the last round. */
    members: z.array(z.string()),
});
/** A position of polling. The running round reports new rows up to the ids `to`. `next` is the position after it. */
const place = round.extend({
    running: z.strictObject({ kind: z.enum(ROUND), id: z.number(), to: idsShape, next: round }).nullable(),
});
/**
 * Reads the clock and the running transactions. A snapshot does not name the newest of them, so the statement takes a
 * new transaction number. A standby cannot give one.
 */
async function clock(desk) {
    const [row] = await desk.db.query(sql `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at,
               pg_snapshot_xmin(s)::text AS xmin,
               (CASE WHEN pg_is_in_recovery() THEN pg_snapshot_xmax(s) ELSE pg_current_xact_id() END)::text AS next,
               ${raw(newest(desk))} AS ids
          FROM pg_current_snapshot() s`);
    if (row === undefined)
        throw new Error('Chatwoot did not send its time');
    return { ...row, ids: idsOf(row.ids) };
}
const earlier = (at, milliseconds) => new Date(Date.parse(at) - milliseconds).toISOString();
async function membersOf(desk) {
    const rows = await desk.db.read(sql `SELECT au.user_id::text AS id FROM ${raw(desk.table('account_users'))} au JOIN ${raw(desk.table('users'))} u
            ON u.id = au.user_id WHERE au.account_id = ${desk.names.account}::bigint ORDER BY au.user_id`);
    return rows.map(({ id }) => id);
}
export async function beginPoll(desk) {
    const { at, next, ids } = await clock(desk);
    const members = await membersOf(desk);
    const from = withSlack(ids);
    const marks = [{ at, next, ids }];
    return {
        low: earlier(at, BEFORE * 1000),
        from,
        settled: from,
        reached: ids,
        marks,
        members,
        running: null,
    };
}
/**
 * Decides where the next round starts. If the oldest running transaction began after a mark, all transactions that ran
 * at the mark have ended, and this round reads their rows. So the next round can start at the mark. Its ids start one
 * round later, because a transaction can take an id a moment before it gets its number.
 */
export function nextRound(last, now) {
    const marks = [...last.marks, { at: now.at, next: now.next, ids: now.ids }];
    const ended = marks.filter(({ next }) => BigInt(next) <= BigInt(now.xmin)).at(-1);
    const floor = earlier(now.at, OLDEST);
    const low = [last.low, ended?.at ?? last.low, floor].reduce((a, b) => (Date.parse(a) < Date.parse(b) ? b : a));
    const open = marks.filter(({ at }) => Date.parse(at) >= Date.parse(low));
    const settled = marks.filter(({ at }) => Date.parse(at) <= Date.parse(low)).at(-1)?.ids ?? last.settled;
    // Marks pile up only during a long transaction. Then every second mark is enough.
    return { low, from: last.settled, settled, marks: open.length <= MARKS ? open : open.filter((_, i) => i % 2 === 0) };
}
/** Lists all rows of a kind at the end of the kind. A stored record whose row is not in the list is then removed. */
async function rowsThere(desk, kind) {
    const { names } = desk;
    // The website stays until somebody removes the source.
    if (kind === 'accounts' || (kind !== 'users' && !isSmall(kind)))
        return [];
    let ids;
    if (kind === 'users') {
        const users = await desk.db.read(sql `SELECT u.id::text AS id FROM ${raw(desk.table('users'))} u LIMIT ${USERS + 1}::integer`);
        if (users.length > USERS)
            return [];
        ids = users.map(({ id }) => id);
    }
    else
        ids = await allOf(desk, kind);
    const only = { of: RECORDS[kind].of, prefix: idOf(names, kind, '') };
    return [{ from: `${kind}/0`, only, keep: ids.map((id) => idOf(names, kind, id)) }];
}
/** Returns the next operators, including those who left since the last round. */
const nextMembers = (members, before, after) => [...new Set([...members, ...before])]
    .map(Number)
    .filter((id) => id > after)
    .sort((one, other) => one - other)
    .slice(0, PAGE_ROWS)
    .map(String);
/**
 * Lists the files of messages. If an agent deletes a message, Chatwoot deletes its files, and nothing else shows this.
 */
async function filesOf(desk, messages) {
    const { from, key, own } = desk.queries.attachments;
    const rows = await desk.db.read(sql `SELECT ${raw(`${key}::text AS id, x.message_id::text AS message FROM ${from} WHERE ${filter(own)}`)}
           AND x.message_id = ANY(${messages}::bigint[])`);
    return messages.map((message) => ({
        from: `messages/${message}`,
        only: { of: 'file', prefix: idOf(desk.names, 'attachments', ''), owner: idOf(desk.names, 'messages', message) },
        keep: rows.filter((row) => row.message === message).map(({ id }) => idOf(desk.names, 'attachments', id)),
    }));
}
/** Reads the changed rows and the rows that depend on the changed rows. */
async function read(desk, kind, ids) {
    const [none, found] = [new Set(), new Set(ids)];
    if (kind === 'users')
        return (await tellAll(desk, { rows: new Map(), members: found, blobs: none })).changes;
    const wanted = { rows: new Map([[kind, found]]), members: none, blobs: none, alone: isSmall(kind) };
    const { changes } = await tellAll(desk, wanted);
    return kind === 'messages' ? [...changes, ...(await filesOf(desk, ids))] : changes;
}
/**
 * Reads one page of a round, without rows whose digests are `known`. If little changes, a round has one page. The
 * caller calls `remember` with the answer. The rows of a failed page stay new, and are read again.
 */
export async function changesPoll(desk, period, known, after) {
    const at = placeIn('the polling', place, after);
    const changes = [];
    const seen = [];
    const answer = (next, more) => ({
        page: { changes, after: next, more },
        remember: () => {
            for (const [row, digest] of seen)
                known.remember(row, digest);
            if (!more)
                known.endRound();
        },
    });
    let { running } = at;
    if (running === null) {
        const to = await limits(desk, at.reached);
        const now = await clock(desk);
        const next = nextRound(at, now);
        const reached = least(to, now.ids);
        const from = least(next.from, reached);
        running = { kind: ROUND[0], id: 0, to, next: { ...next, from, reached, members: await membersOf(desk) } };
    }
    const window = { low: earlier(at.low, (OVERLAP + period) * 1000), from: at.from, to: running.to };
    let { kind, id } = running;
    let left = PAGE_BYTES;
    for (;;) {
        const found = kind === 'users' ? nextMembers(running.next.members, at.members, id) : await nextIds(desk, kind, window, id);
        // All rows of small tables are reported. The reader leaves out the rows that it has already reported.
        const { fresh, digests } = isTimed(kind)
            ? await unknownOf(desk, kind, found, known)
            : { fresh: found, digests: undefined };
        const sizes = await sizesOf(desk, kind, fresh, { along: !isSmall(kind) });
        const sizeOf = (one) => sizes.get(one) ?? 0;
        const [first] = fresh;
        const fits = first === undefined || left === PAGE_BYTES || sizeOf(first) <= left;
        const ids = fits ? fitting(fresh, sizeOf, left) : [];
        if (ids.length > 0)
            changes.push(...(await read(desk, kind, ids)));
        if (digests !== undefined)
            seen.push(...digests(ids));
        for (const one of ids)
            left -= sizeOf(one);
        const isCutHere = ids.length < fresh.length;
        if (isCutHere || found.length === PAGE_ROWS) {
            id = Number((isCutHere ? ids : found).at(-1) ?? id);
            return answer({ ...at, running: { ...running, kind, id } }, true);
        }
        changes.push(...(await rowsThere(desk, kind)));
        const following = ROUND[ROUND.indexOf(kind) + 1];
        if (following === undefined)
            return answer({ ...running.next, running: null }, isCut(running.to));
        [kind, id] = [following, 0];
    }
}
export async function behindPoll(desk, after) {
    const { marks, low } = placeIn('the polling', place, after);
    const { at } = await clock(desk);
    return { seconds: Math.max(0, (Date.parse(at) - Date.parse(marks.at(-1)?.at ?? low)) / 1000), changes: null };
}
//# sourceMappingURL=poll.js.map