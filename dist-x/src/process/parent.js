import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
/** Milliseconds between two checks of the parent processes. */
const INTERVAL = 250;
/**
 * Calls `gone` once when a process that only waits for this process has ended. Such a process is npm, or a shell that
 * runs one command (`sh -c`). npm passes a signal only to its shell. If the shell dies, nobody tells this process, and
 * PostgreSQL would run on without an owner.
 *
 * Any other process can outlive its parent on purpose: a service, a background job, a container, or a process with a
 * session of its own (setsid). Such a process is not watched. `npm` is true when npm has started this process.
 */
export function watchParents(npm, gone) {
    if (statOf('self')?.session === process.pid)
        return;
    const watched = waitingParents(npm);
    if (watched.length === 0)
        return;
    const timer = setInterval(() => {
        if (watched.every(({ child, parent }) => parentOf(child) === parent))
            return;
        clearInterval(timer);
        gone();
    }, INTERVAL).unref();
}
/** Walks from this process to its ancestors, as long as each ancestor only waits for its child. */
function waitingParents(npm) {
    const links = [];
    let expected = npm;
    for (let child = process.pid;;) {
        const parent = parentOf(child);
        if (parent === undefined)
            return links;
        const shell = isWaitingShell(parent);
        // Between npm and this process are only shells. So the first ancestor that is no shell is npm.
        if (!shell && !expected)
            return links;
        if (!shell)
            expected = false;
        links.push({ child, parent });
        child = parent;
    }
}
/** True for `sh -c COMMAND`, if the command starts nothing in the background. Such a shell ends after its command. */
function isWaitingShell(pid) {
    const [program = '', option = '', command = ''] = read(pid, 'cmdline')?.split('\0') ?? [];
    const background = /(?<![&>|])&(?![&>\d])/.test(command);
    return /^-?(da|ba|a|z|k)?sh$|^busybox$/.test(basename(program)) && /^-[a-z]*c$/.test(option) && !background;
}
const parentOf = (pid) => (pid === process.pid ? process.ppid : statOf(pid)?.parent);
function statOf(pid) {
    const stat = read(pid, 'stat');
    // The name is in parentheses and can itself contain some. Then come state, parent, group and session.
    const [, parent, , session] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
    return stat === undefined ? undefined : { parent: Number(parent), session: Number(session) };
}
/** Reads a file of a process from /proc. Returns undefined when the process has ended, or when there is no /proc. */
function read(pid, name) {
    try {
        return readFileSync(`/proc/${pid}/${name}`, 'utf8');
    }
    catch {
        return undefined; // the process has ended, or there is no /proc
    }
}
//# sourceMappingURL=parent.js.map