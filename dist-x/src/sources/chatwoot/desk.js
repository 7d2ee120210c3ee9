import { raw, sql } from '../../core/sql.js';
import { parseRecord, UNREADABLE } from '../engine/parse-record.js';
import { mayRead } from '../engine/underway.js';
import { PRESENT, relations } from './columns.js';
import { filter, KINDS, MESSAGE_MAX, queries, RECORDS } from './kinds.js';
import { idOf, MAKERS, noteIdOf } from './map.js';
import { answered, messageOf } from './map-message.js';
export const PAGE_ROWS = 2_000;
/** The largest weight of a page in bytes. A page of one row can be heavier. */
export const PAGE_BYTES = 8 * 1024 * 1024;
/** The smallest weight that a record counts for, in bytes. So a full page has at most PAGE_ROWS records. */
export const RECORD_BYTES = Math.floor(PAGE_BYTES / PAGE_ROWS);
export async function openDesk(db, names) {
    const present = new Set((await db.read(PRESENT)).map(({ name }) => name));
    return { db, names, present, queries: queries(names.account, present), table: relations(present) };
}
export const nameOf = (kind, id) => `${kind}/${id}`;
const isKind = (name) => KINDS.some((kind) => kind === name);
/** Reads the name of a row, for example `messages/17`. Returns undefined for a name that is not of this source. */
export function rowOf(name) {
    const [, kind = '', id = ''] = /^([a-z_]+)\/(\d{1,18})$/.exec(name) ?? [];
    return isKind(kind) ? [kind, id] : undefined;
}
const ownOf = (kind, query, anyUser = false) => kind === 'users' && anyUser ? 'true' : query.own;
/** Finds rows by id. PostgreSQL does not search among all rows of the account (see `filter`). */
export const byId = ({ from, key }, columns, own, ids) => sql `SELECT ${raw(`${key}::text AS id${columns} FROM ${from} WHERE ${filter(own)} AND ${key}`)} = ANY(${ids}::bigint[])`;
/** Reads rows by id. The rows come in the order of their ids. */
export function rowsOf(desk, kind, ids, options = {}) {
    if (ids.length === 0)
        return Promise.resolve([]);
    const query = desk.queries[kind];
    const own = ownOf(kind, query, options.anyUser);
    return desk.db.read(sql `${byId(query, `, ${query.columns}`, own, ids)} ${raw(`ORDER BY ${query.key}`)}`);
}
/** Returns those of the ids that Chatwoot still has. */
export async function existing(desk, kind, ids) {
    const query = desk.queries[kind];
    const rows = await desk.db.read(byId(query, '', ownOf(kind, query, true), ids));
    return new Set(rows.map(({ id }) => id));
}
/** Writes SQL for the weight of a row in bytes: the long texts of all its records. */
export const weightOf = ({ bytes = '0', records = '1' }) => `greatest(${bytes}, ${RECORD_BYTES})::bigint * greatest(${records}, 1)`;
/** Returns the weights of rows in bytes. With `along`, a weight includes the records that come along with the row. */
export async function sizesOf(desk, kind, ids, { along = true } = {}) {
    const query = desk.queries[kind];
    const { key, bytes } = query;
    const more = along ? query.along : undefined;
    if ((bytes === undefined && more === undefined) || ids.length === 0)
        return new Map(ids.map((id) => [id, RECORD_BYTES]));
    const others = more === undefined ? '0' : `coalesce((SELECT sum(greatest(${more.bytes}, ${RECORD_BYTES})) FROM ${more.from}), 0)`;
    const table = `${desk.table(kind)} ${key.slice(0, key.indexOf('.'))}`;
    const rows = await desk.db.read(sql `SELECT ${raw(`${key}::text AS id, (${weightOf(query)} + ${others})::text AS bytes FROM ${table} WHERE ${key}`)} = ANY(${ids}::bigint[])`);
    return new Map(rows.map((row) => [row.id, Number(row.bytes)]));
}
/** In bytes. Such a message is never too long for the import, because HTML makes at most five characters of a byte. */
const SURELY_SHORT = MESSAGE_MAX / 5;
/** Finds the conversations of the answered messages that the gateway can store. */
async function repliesOf(desk, rows) {
    const asked = new Set(rows.flatMap((row) => attempt(() => answered(row)) ?? []));
    const isStored = (row) => mayRead(nameOf('messages', row.id)) &&
        attempt(() => parseRecord(messageOf(row, desk.names, () => undefined)).ok) === true;
    const here = rows.filter(({ id }) => asked.has(id));
    const known = new Map(here.filter(isStored).map((row) => [row.id, row['conversation'] ?? '']));
    for (const { id } of here)
        asked.delete(id);
    if (asked.size === 0)
        return known;
    const found = await desk.db.read(sql `SELECT m.id::text AS id, m.conversation_id::text AS conversation,
               m.message_type BETWEEN 0 AND 3 AND coalesce(octet_length(m.content), 0) <= ${SURELY_SHORT}::integer
               AND coalesce(octet_length(m.content_attributes::text), 0) <= ${SURELY_SHORT}::integer AS sure
          FROM ${raw(desk.table('messages'))} m
         WHERE ${raw(filter(`m.account_id = ${desk.names.account}`))} AND m.id = ANY(${[...asked]}::bigint[])`);
    for (const { id, conversation, sure } of found) {
        // Reading long messages one by one keeps memory small. Long messages are rare.
        if (sure || (await rowsOf(desk, 'messages', [id])).some(isStored))
            known.set(id, conversation);
    }
    return known;
}
/** Makes the records of rows: two for an account, one a visitor for a note. Undefined for a row that cannot be read. */
export async function recordsOf(desk, kind, rows) {
    const replies = kind === 'messages' ? await repliesOf(desk, rows) : undefined;
    const make = (row) => kind === 'messages' ? [messageOf(row, desk.names, (id) => replies?.get(id))] : MAKERS[kind](row, desk.names);
    return new Map(rows.map((row) => [row.id, mayRead(nameOf(kind, row.id)) ? attempt(() => make(row)) : undefined]));
}
function attempt(read) {
    try {
        return read();
    }
    catch {
        return undefined;
    }
}
/** What the source says about a row that has these records. */
export const changesOf = (from, kind, records) => records?.map((record) => ({ from, record })) ?? [{ from, prepared: { refused: UNREADABLE, type: RECORDS[kind].of } }];
/** Reads rows and says for each row its records, or that the row is gone. */
export async function tell(desk, kind, ids, options = {}) {
    const { names } = desk;
    const { visitors } = options;
    const found = await rowsOf(desk, kind, ids, options);
    const rows = visitors
        ? found.map((row) => ({ ...row, visitors: visitors.get(row.id)?.join(',') ?? null }))
        : found;
    const made = await recordsOf(desk, kind, rows);
    const changes = [];
    for (const id of ids) {
        const from = nameOf(kind, id);
        const records = made.get(id);
        if (made.has(id))
            changes.push(...changesOf(from, kind, records));
        if (visitors)
            continue;
        if (kind === 'notes' && (records !== undefined || !made.has(id))) {
            const prefix = noteIdOf(names, id, '');
            changes.push({ from, only: { of: 'note', prefix }, keep: (records ?? []).map(({ external_id }) => external_id) });
        }
        else if (!made.has(id) && kind !== 'accounts' && !(await staysAs(desk, kind, id, options))) {
            // The website stays until somebody removes the source.
            changes.push({ from, gone: { of: RECORDS[kind].of, external_id: idOf(names, kind, id) } });
        }
    }
    const former = rows.flatMap((row) => (row['former'] === 'true' ? (row['sender'] ?? row['operator'] ?? []) : []));
    return { changes, records: [...made.values()].flatMap((records) => records ?? []), former: [...new Set(former)] };
}
/** A user of another account is no operator here. But the row is not gone, because a former operator stays. */
const staysAs = async (desk, kind, id, { anyUser }) => kind === 'users' && anyUser !== true && (await existing(desk, kind, [id])).has(id);
//# sourceMappingURL=desk.js.map