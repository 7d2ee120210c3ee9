import { late, QUEUED } from './errors.js';
import { bound } from './statement.js';
/** The largest number of reads in a batch. Batches of 16 reads were not faster, and a choice of 2, 4 and 8 was not. */
export const SIZE = 8;
/** A statement that took longer (milliseconds) is not shared, because its reads would wait for one another. */
const FAST = 20;
/** The same for a whole batch, in milliseconds. */
const FAST_BATCH = 40;
/** The largest number of statements that are known. A gateway in normal use has some hundred. */
const STATEMENTS = 2_000;
/** When so many apps have a list of batches, the empty lists are removed. */
const APPS = 1_000;
/** The last column, with the number of a read in its batch. */
const NUMBER = '~n';
/** Names of the types that parameters have, by object id (`pg_type.oid`). */
const TYPES = {
    16: 'boolean',
    17: 'bytea',
    20: 'bigint',
    21: 'smallint',
    23: 'integer',
    25: 'text',
    1007: 'integer[]',
    1009: 'text[]',
    1016: 'bigint[]',
    1184: 'timestamptz',
};
/**
 * Combines reads of one app that have the same SQL, and are sent in one turn of the event loop or wait for a connection:
 * they become rows of one statement. Each row proves its own authority, at the same snapshot as its data. The gain,
 * measured: docs/decisions/performance.md.
 */
export class SharedReads {
    /** The batches that wait for a connection, by app. An app keeps its list: see docs/decisions/performance.md on Maps. */
    #open = new Map();
    /** The SQL of a batch, by the SQL of its reads. */
    #known = new Map();
    #most;
    /** `most`: how many reads of one app may wait. */
    constructor(most) {
        this.#most = most;
    }
    /** Called after a read ran alone, with the types that PostgreSQL gave to its parameters and the time (ms) it took. */
    ran({ texts: pieces }, text, oids, took) {
        if (took > FAST)
            this.#known.delete(text);
        if (took > FAST || this.#known.has(text))
            return;
        const types = oids.map((oid) => TYPES[oid]).filter((type) => type !== undefined);
        if (types.length === 0 || types.length < pieces.length - 1)
            return;
        if (this.#known.size >= STATEMENTS)
            this.#known.clear();
        this.#known.set(text, batchText(pieces, types));
    }
    /** The rows of a read that waits for others and for a connection. Undefined if its statement cannot be shared. */
    join(app, { text, lists }, values, run) {
        const known = this.#known.get(text);
        if (known === undefined)
            return undefined;
        const open = this.#openOf(app);
        if (open.reduce((sum, { reads }) => sum + reads.length, 0) >= this.#most)
            return Promise.reject(late(QUEUED));
        return new Promise((resolve, reject) => {
            const read = { values, resolve, reject };
            const joined = open.find((one) => one.text === text && one.lists === lists && one.reads.length < SIZE && alike(one, values));
            if (joined)
                joined.reads.push(read);
            else
                void this.#begin(open, { text, lists, reads: [read] }, known, run);
        }); // the rows of a batch are those of its statement, whose caller declares their type
    }
    #openOf(app) {
        const open = this.#open.get(app);
        if (open)
            return open;
        if (this.#open.size >= APPS)
            for (const [other, batches] of this.#open)
                if (batches.length === 0)
                    this.#open.delete(other);
        const made = [];
        this.#open.set(app, made);
        return made;
    }
    async #begin(open, batch, known, run) {
        const { text, reads } = batch;
        open.push(batch);
        let began = 0;
        const close = () => {
            const at = open.indexOf(batch);
            if (at >= 0)
                open.splice(at, 1);
        };
        try {
            const rows = await run(() => {
                close();
                began = performance.now();
                return sentOf(batch, known);
            });
            if (performance.now() - began > (reads.length === 1 ? FAST : FAST_BATCH))
                this.#known.delete(text);
            const each = reads.length === 1 ? [rows] : split(rows, reads.length);
            reads.forEach(({ resolve }, i) => {
                resolve(each[i] ?? []);
            });
        }
        catch (error) {
            close();
            // A wait that ended before the batch was sent says nothing about the statement.
            if (began > 0)
                this.#known.delete(text);
            for (const { reject } of reads)
                reject(error);
        }
    }
}
/**
 * The driver tells PostgreSQL the types of dates, bytes and booleans, but not of null, texts, numbers and lists. It
 * prepares a statement again for each new list of types. So all values of a parameter in a batch are of one such type,
 * or none is. Else eight rows could have 2^8 lists for each parameter.
 */
const named = (value) => value instanceof Date ? 1 : value instanceof Uint8Array ? 2 : typeof value === 'boolean' ? 3 : 0;
const alike = ({ reads: [first] }, values) => first?.values.every((value, i) => named(value) === named(values[i] ?? null)) === true;
function sentOf({ text, lists, reads }, known) {
    const each = reads.map(({ values }) => values.map(bound));
    const [first = []] = each;
    if (each.length === 1)
        return { text, lists, parameters: first };
    const rows = Array.from({ length: SIZE }, (_, i) => each[i] ?? first);
    return { text: known, lists, parameters: [...rows.flat(), each.length] };
}
function split(rows, reads) {
    const each = Array.from({ length: reads }, () => []);
    for (const row of rows)
        each[numberOf(row) - 1]?.push(row);
    return each;
}
/** The number that batchText has added to a row. A list is then again as long as that of a read alone. */
const numberOf = (row) => Array.isArray(row) ? row.pop() : row[NUMBER]; // batchText selects it
/**
 * The SQL of a batch. It always has SIZE rows, and the last parameter tells how many count, so PostgreSQL plans one
 * statement for batches of any size. With arrays as parameters, PostgreSQL would plan each batch again. OFFSET 0 keeps
 * PostgreSQL from planning the batch as one join, which could read a whole table.
 */
export function batchText(pieces, types) {
    const rows = Array.from({ length: SIZE }, (_, row) => {
        const values = types.map((type, i) => `$${row * types.length + i + 1}::${type}`);
        return `(${[row + 1, ...values].join(', ')})`;
    });
    const one = pieces.reduce((all, piece, i) => (i === 0 ? piece : `${all}batch.p${i}${piece}`), '');
    const names = types.map((_, i) => `p${i + 1}`).join(', ');
    return `SELECT one.*, batch.n AS "${NUMBER}" FROM (VALUES ${rows.join(', ')}) batch (n, ${names})
    CROSS JOIN LATERAL (${one} OFFSET 0) one WHERE batch.n <= $${SIZE * types.length + 1}::integer`;
}
//# sourceMappingURL=shared-reads.js.map