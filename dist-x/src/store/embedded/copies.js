import { chmodSync, cpSync, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { run } from './run.js';
import { errorCode } from './unavailable.js';
/**
 * Makes missing links between the npm package's libraries. True if all exist. Packages cannot contain links, so an
 * install script makes them. This function helps if install scripts are disabled and the folder is not read-only.
 */
export function linksComplete(native) {
    const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'));
    for (const { source, target } of links) {
        const path = join(dirname(native), target);
        if (existsSync(path))
            continue;
        try {
            rmSync(path, { force: true });
            symlinkSync(basename(source), path);
        }
        catch (error) {
            // Another process may have made the link at the same moment.
            if (errorCode(error) !== 'EEXIST')
                return false;
        }
    }
    return true;
}
/**
 * Returns a copy of the package (`<folder>/native`) that the account can run, in the data folder or else in a public
 * temporary folder. It is renamed when complete. A copy has 60 MB and takes about 0.1 s.
 */
export async function copyForOthers(native, { dataDir, account, name }) {
    const us = process.geteuid?.() ?? 0;
    const places = [
        join(dataDir, name),
        ...[tmpdir(), '/tmp', '/var/tmp'].filter(keeps).map((place) => join(place, `gateway-${us}-${name}`)),
    ];
    for (const place of places) {
        if (!(await canEnter(dirname(place), account)))
            continue;
        if (intact(place, native, us))
            return join(place, 'native');
        try {
            const aside = mkdtempSync(`${place}.`);
            try {
                fill(join(aside, 'native'), native);
                chmodSync(aside, 0o755);
                // Remove this user's damaged copy. Another user's folder makes the rename fail, and the next place is tried.
                if (ours(place, us))
                    rmSync(place, { recursive: true, force: true });
                renameSync(aside, place);
            }
            finally {
                rmSync(aside, { recursive: true, force: true });
            }
        }
        catch (error) {
            if (errorCode(error) === undefined)
                throw error;
        }
        if (intact(place, native, us))
            return join(place, 'native');
    }
    return undefined;
}
/**
 * True if no other user can replace the gateway's folder in this one: others cannot write to it, or it has the sticky
 * bit.
 */
function keeps(folder) {
    const stat = statSync(folder, { throwIfNoEntry: false });
    const ours = stat && [0, process.geteuid?.()].includes(stat.uid);
    return ours === true && ((stat.mode & 0o022) === 0 || (stat.mode & 0o1000) !== 0);
}
async function canEnter(folder, account) {
    const { status } = await run('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { account });
    return status === 0;
}
/**
 * True if the copy is of this process's user, closed to other writers, and has all bytes: a cleaner of /tmp may remove
 * files.
 */
function intact(place, native, us) {
    const copy = join(place, 'native');
    return ours(place, us) && existsSync(copy) && linksComplete(copy) && bytesIn(copy) === bytesIn(native);
}
function ours(place, us) {
    const stat = lstatSync(place, { throwIfNoEntry: false });
    return stat?.isDirectory() === true && stat.uid === us && (stat.mode & 0o022) === 0;
}
function fill(target, native) {
    cpSync(native, target, { recursive: true, verbatimSymlinks: true, filter: needed });
    chmodSync(target, 0o755);
    // The account must be able to read all files and run the programs, even if the umask of the installation was strict.
    for (const entry of readdirSync(target, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name);
        if (entry.isDirectory())
            chmodSync(path, 0o755);
        else if (entry.isFile())
            chmodSync(path, basename(entry.parentPath) === 'bin' ? 0o755 : 0o644);
    }
    linksComplete(target);
}
function bytesIn(folder) {
    let bytes = 0;
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name);
        if (entry.isFile() && needed(path))
            bytes += lstatSync(path).size;
    }
    return bytes;
}
/** Static archives are not needed, because they only serve to link C programs. */
function needed(path) {
    return !path.endsWith('.a');
}
//# sourceMappingURL=copies.js.map