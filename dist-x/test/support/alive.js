/** True if a process has this id. EPERM: the process belongs to another user. */
export function isAlive(pid) {
    try {
        return process.kill(pid, 0);
    }
    catch (error) {
        return error instanceof Error && 'code' in error && error.code === 'EPERM';
    }
}
//# sourceMappingURL=alive.js.map