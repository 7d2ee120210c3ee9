import { raw, sql } from '../../core/sql.js';
import { CHUNK, contentAt, inlineContent } from './content.js';
import { digestsOf } from './digests.js';
import { prepareFile, prepareRecord } from './prepare.js';
import { explainLostLease } from './run.js';
const ROWS = 1000;
const BYTES = 4 * 1024 * 1024;
/** The most characters of one statement. It matters for loads, which the serving thread stages (see engine/page.ts). */
const HEAVY = 1024 * 1024;
/**
 * Writes lines into the staging tables, usually about a thousand in one statement. While PostgreSQL stores these lines,
 * the class checks the next lines. One statement can wait while another one runs, so that neither PostgreSQL nor the
 * class is idle. Each statement records the position after its last line.
 */
export class Stage {
    db;
    run;
    seq;
    digest;
    rows = columns();
    rejects = [];
    counts = new Map();
    bytes = 0;
    pieces = [];
    pieceBytes = 0;
    before = Promise.resolve();
    under = Promise.resolve();
    constructor(db, run, seq, 
    /** Undefined if nobody was ever erased. */
    digest) {
        this.db = db;
        this.run = run;
        this.seq = seq;
        this.digest = digest;
    }
    /**
     * Stages one line or record. Returns a promise only if the caller must wait for a file: awaiting every line would
     * take a sixth of the checking time (measured).
     */
    record(at, json, folder) {
        return this.prepared(at, prepareRecord(json, this.run.place.live), folder);
    }
    prepared(at, prepared, folder) {
        if ('refused' in prepared)
            return this.refuse(at, prepared.type, prepared.refused);
        return 'file' in prepared ? this.file(at, prepared.file, folder) : this.keep(at, prepared.row);
    }
    async file(at, record, folder) {
        const seq = this.seq + 1;
        const take = async (first, bytes) => {
            for (let i = 0; i * CHUNK < bytes.length; i++) {
                this.pieces.push({ seq, chunk: first + i, bytes: bytes.subarray(i * CHUNK, (i + 1) * CHUNK) });
            }
            this.pieceBytes += bytes.length;
            if (this.pieceBytes >= BYTES)
                await this.flushContent();
        };
        const content = !('content_base64' in record) || record.content_base64 === undefined
            ? await contentAt(folder, record.path ?? '', take)
            : await inlineContent(record.content_base64, take);
        if (typeof content === 'string' && !('size' in record))
            return this.refuse(at, 'file', [{ pointer: '/path', code: content }]);
        const prepared = prepareFile(record, typeof content === 'string' ? undefined : content);
        if ('row' in prepared)
            this.keep(at, prepared.row);
        else if ('refused' in prepared)
            this.refuse(at, 'file', prepared.refused);
    }
    /** True if the staged rows are too long to share a statement with more rows. */
    get heavy() {
        return this.bytes >= HEAVY;
    }
    get full() {
        return this.rows.type.length + this.rejects.length >= ROWS || this.bytes >= BYTES;
    }
    async flush(after) {
        await this.flushContent();
        const { stage, reject, lease } = this.run.place;
        const [rows, rejects, counts] = [this.rows, this.rejects, this.counts];
        this.rows = columns();
        this.rejects = [];
        this.counts = new Map();
        this.bytes = 0;
        const read = [...counts].map(([type, count]) => ({ type, ...count }));
        // In this parameter, line breaks separate the values of a column. JSON, numbers, types and times contain none.
        const column = (values) => sql `string_to_array(${values.join('\n')}::text, E'\\n', '')`;
        await this.start(sql `WITH lease AS MATERIALIZED (SELECT ${lease}), kept AS (
        INSERT INTO ${raw(stage)} (file, type, seq, line, origin, external_id, owner, at, refs, links, data, digests)
        SELECT r.file, r.type, r.seq, r.line, r.origin, r.external_id, r.owner, r.at::timestamptz, r.refs::text[], r.links::text[], r.data::json, r.digests::text[]
          FROM lease, unnest(${column(rows.type)}, ${column(rows.seq)}::bigint[], ${column(rows.file)}::integer[], ${column(rows.line)}::bigint[], ${column(rows.origin)}, ${rows.external_id}::text[],
            ${rows.owner}::text[], ${column(rows.at)}, ${rows.refs}::text[], ${rows.links}::text[], ${column(rows.data)}, ${rows.digests}::text[])
            AS r (type, seq, file, line, origin, external_id, owner, at, refs, links, data, digests)
      ), refused AS (
        INSERT INTO ${raw(reject)} (seq, place, file, line, origin, pointer, code)
        SELECT r.* FROM lease, jsonb_to_recordset(${JSON.stringify(rejects)}::text::jsonb)
          AS r (seq bigint, place integer, file integer, line bigint, origin text, pointer text, code text)
      )
      SELECT gateway.import_staged(${this.run.slot}, ${this.run.epoch}, ${JSON.stringify(after)}::text::jsonb, ${this.seq},
                                   ${JSON.stringify(read)}::text::jsonb)`);
    }
    async settled() {
        await this.under.catch(explainLostLease);
    }
    /** Queues a statement behind the running one. If another statement is already queued, first waits until it runs. */
    async start(statement) {
        await this.before.catch(explainLostLease);
        this.before = this.under;
        this.under = this.under.then(() => this.db.query(statement));
        // The next call of `start` or `settled` reports a failure. This handler prevents an unhandled rejection before
        // that.
        this.under.catch(() => undefined);
    }
    async flushContent() {
        if (this.pieces.length === 0)
            return;
        const { pieces } = this;
        this.pieces = [];
        this.pieceBytes = 0;
        let from = 1;
        const index = pieces.map(({ seq, chunk, bytes }) => {
            const entry = { seq, chunk, start: from, length: bytes.length };
            from += bytes.length;
            return entry;
        });
        await this.start(sql `WITH lease AS MATERIALIZED (SELECT ${this.run.place.lease})
      INSERT INTO ${raw(this.run.place.chunk)} (seq, chunk, bytes)
      SELECT p.seq, p.chunk, substring(${Buffer.concat(pieces.map((piece) => piece.bytes))}::bytea FROM p.start FOR p.length)
        FROM lease, jsonb_to_recordset(${JSON.stringify(index)}::text::jsonb)
          AS p (seq bigint, chunk integer, start integer, length integer)
      ON CONFLICT (seq, chunk) DO UPDATE SET bytes = excluded.bytes`);
    }
    keep({ file, line, origin }, row) {
        this.count(row.type).read++;
        const data = JSON.stringify(row.data);
        this.bytes += data.length;
        const { rows } = this;
        rows.type.push(row.type);
        rows.seq.push(++this.seq);
        rows.file.push(file);
        rows.line.push(line);
        rows.origin.push(origin ?? null);
        rows.external_id.push(row.external_id);
        rows.owner.push(row.owner ?? null);
        rows.at.push(row.at ?? null);
        rows.refs.push(row.refs === undefined ? null : arrayText(row.refs));
        rows.links.push(row.links === undefined ? null : arrayText(row.links));
        rows.data.push(data);
        const digests = this.digest === undefined ? undefined : digestsOf(this.digest, row);
        rows.digests.push(digests === undefined ? null : arrayText(digests));
    }
    refuse({ file, line, origin }, type, problems) {
        const count = this.count(type);
        count.read++;
        count.rejected++;
        this.seq++;
        const told = new Set();
        for (const { pointer, code } of problems) {
            if (told.has(`${pointer} ${code}`))
                continue;
            this.rejects.push({ seq: this.seq, place: told.size, file, line, origin, pointer, code });
            told.add(`${pointer} ${code}`);
        }
    }
    count(type) {
        const count = this.counts.get(type) ?? { read: 0, rejected: 0 };
        this.counts.set(type, count);
        return count;
    }
}
function columns() {
    return {
        type: empty(),
        seq: empty(),
        file: empty(),
        line: empty(),
        origin: empty(),
        external_id: empty(),
        owner: empty(),
        at: empty(),
        refs: empty(),
        links: empty(),
        data: empty(),
        digests: empty(),
    };
}
const empty = () => [];
const arrayText = (values) => `{${values.map((value) => (value === null ? 'NULL' : `"${value.replaceAll(/["\\]/g, '\\$&')}"`)).join(',')}}`;
//# sourceMappingURL=stage.js.map