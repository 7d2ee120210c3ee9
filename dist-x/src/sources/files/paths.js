import { fstatSync } from 'node:fs';
import { access, constants, lstat, stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { sqlState as codeOf } from '../../store/driver/errors.js';
/** The message for a file that cannot be read. `error` is the error of the system. */
export function unreadable(path, error) {
    const code = codeOf(error);
    if (code === 'ENOENT')
        return `There is no file ${JSON.stringify(path)}.`;
    return `The file ${JSON.stringify(path)} cannot be read (${code || 'unknown error'}).`;
}
/**
 * The message for a path that must not become the list of rejected lines. Undefined if the path is free, or a regular
 * file that the import does not read. Checked before the work, because a failure at the end would hide the result of
 * the import.
 */
export async function unwritableFile(path, inputs) {
    const [target, shown] = [resolve(path), JSON.stringify(path)];
    const folder = dirname(target);
    if (path.endsWith('/') || path.endsWith(sep))
        return `${shown} is a folder. Name a file.`;
    try {
        await access(folder, constants.W_OK);
    }
    catch (error) {
        const code = codeOf(error);
        if (code === 'ENOENT')
            return `There is no folder ${JSON.stringify(folder)}. Make the folder, or name another file.`;
        return `The folder ${JSON.stringify(folder)} cannot be written (${code || 'unknown error'}).`;
    }
    // A symbolic link is not followed, because the import replaces the link and not the file behind the link.
    const found = await lstat(target).catch(codeOf);
    if (found === 'ENOENT')
        return undefined;
    if (typeof found === 'string')
        return `The file ${shown} cannot be written (${found || 'unknown error'}).`;
    if (found.isDirectory())
        return `${shown} is a folder. Name a file.`;
    if (!found.isFile())
        return `${shown} is not a regular file. Name a regular file, or a new file.`;
    for (const input of inputs) {
        const { dev, ino } = input === '-' ? fstatSync(process.stdin.fd) : await stat(input);
        if (dev === found.dev && ino === found.ino)
            return `The import reads ${shown}. Name another file.`;
    }
    return undefined;
}
//# sourceMappingURL=paths.js.map