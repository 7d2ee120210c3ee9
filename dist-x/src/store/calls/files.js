import { Failure } from '../../core/failures.js';
import { sql } from '../../core/sql.js';
import { CHUNK_SIZE, FileView } from '../../views/file.js';
import { guarded } from './guard.js';
import { callerOf } from './projection.js';
import { nativeId } from './read.js';
/** Reads bytes from at most two chunks of a file, if the caller may see its message and its conversation. */
export async function readFileBytes(access, file, { includeInternal, offset, length }) {
    const { website } = access;
    const native = nativeId(access, FileView, file);
    const first = Math.min(Math.floor(offset / CHUNK_SIZE), 2 ** 31 - 1);
    const last = Math.min(Math.floor((offset + Math.max(length, 1) - 1) / CHUNK_SIZE), 2 ** 31 - 1);
    const { proof, rows } = await guarded(access, sql `f.id AS native, f.name, f.size, f.version, f.sha256, f.bare, b.chunk, b.bytes`, sql `LEFT JOIN LATERAL (
      SELECT f.id, f.name, f.size, f.version, f.sha256,
             f.size > 0 AND NOT EXISTS (SELECT FROM platform.file_chunk k
               WHERE k.tenant = f.tenant AND k.site = f.site AND k.file_id = f.id) AS bare
        FROM platform.file f
        JOIN platform.message m ON m.tenant = f.tenant AND m.site = f.site AND m.id = f.message_id
        JOIN platform.conversation c ON c.tenant = f.tenant AND c.site = f.site AND c.id = f.conversation_id
       WHERE guard.ok AND f.tenant = ${website.tenant} AND f.site = ${website.site} AND f.id = ${native}
         AND (${includeInternal} OR m.visibility = 'public') AND ${callerOf(access).allowed('c')}
    ) f ON true
    LEFT JOIN platform.file_chunk b ON b.tenant = ${website.tenant} AND b.site = ${website.site} AND b.file_id = f.id
      AND b.chunk BETWEEN ${first} AND ${last}
    ORDER BY b.chunk`);
    const [row] = rows;
    if (!row?.native)
        return { proof, answer: new Failure('not_found') };
    if (row.bare)
        return { proof, answer: new Failure('capability_unavailable') };
    const stored = Buffer.concat(rows.flatMap(({ bytes }) => (bytes ? [bytes] : [])));
    const start = offset - first * CHUNK_SIZE;
    const answer = {
        bytes: stored.subarray(start, start + length),
        offset,
        size: Number(row.size),
        version: row.version,
        sha256: row.sha256,
        name: row.name,
    };
    return { proof, answer };
}
//# sourceMappingURL=files.js.map