import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
export const CHUNK = 65_536;
export async function inlineContent(base64, take) {
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.length > 0)
        await take(0, bytes);
    return { size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}
/**
 * Reads the content of a file. `path` is relative to `folder`, the folder of the NDJSON file. The file must be inside
 * this folder, even after symbolic links are followed.
 */
export async function contentAt(folder, path, take) {
    if (folder === null)
        return 'path_refused';
    let handle;
    try {
        const real = await realpath(resolve(folder, path));
        if (!real.startsWith(folder.endsWith(sep) ? folder : folder + sep))
            return 'path_outside';
        // O_NOFOLLOW: the checked file may have become a link. O_NONBLOCK: a pipe must not block the import.
        handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    }
    catch (error) {
        const code = error instanceof Error && 'code' in error ? error.code : '';
        return code === 'ENOENT' || code === 'ENOTDIR' ? 'file_not_found' : 'unreadable_file';
    }
    try {
        if (!(await handle.stat()).isFile())
            return 'not_a_file';
        const hash = createHash('sha256');
        let size = 0;
        for (;;) {
            const piece = await fill(handle, Buffer.allocUnsafe(64 * CHUNK));
            if (piece.length === 0)
                break;
            hash.update(piece);
            await take(size / CHUNK, piece);
            size += piece.length;
            if (piece.length % CHUNK !== 0)
                break;
        }
        return { size, sha256: hash.digest('hex') };
    }
    finally {
        await handle.close();
    }
}
async function fill(handle, buffer) {
    let length = 0;
    while (length < buffer.length) {
        const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
        if (bytesRead === 0)
            break;
        length += bytesRead;
    }
    return buffer.subarray(0, length);
}
//# sourceMappingURL=content.js.map