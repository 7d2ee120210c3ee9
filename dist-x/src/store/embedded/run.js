import { spawn } from 'node:child_process';
/** Programs start in this folder, because it exists for every user. */
export const anywhere = '/';
/**
 * Only variables of the loader, Windows and libfaketime. PG* variables would redirect PostgreSQL, and secrets must not
 * reach the programs. Messages are in English, because the gateway reads some.
 */
export function programEnvironment() {
    const kept = Object.entries(process.env).filter(([name]) => /^(PATH|LD_|FAKETIME|DONT_FAKE|NO_FAKE|SYSTEMROOT|COMSPEC|TEMP|TMP)/i.test(name));
    return { ...Object.fromEntries(kept), LC_ALL: 'C', TZ: 'UTC' };
}
/**
 * Runs a program and waits until the program ends. If `account` is given, the program runs as this user. In the
 * program, the file descriptors of `inherit` have the numbers 3, 4 and so on. `silent`: the output is dropped. Use it for
 * a program that leaves another program running, because on Windows that program keeps the pipe of the output open.
 */
export function run(program, args, { account, inherit = [], silent = false, } = {}) {
    return new Promise((resolve) => {
        let stdout = '';
        let stderr = '';
        const failed = (error) => resolve({ status: undefined, stdout, stderr: String(error) });
        try {
            const child = spawn(program, args, {
                cwd: anywhere,
                env: programEnvironment(),
                stdio: ['ignore', silent ? 'ignore' : 'pipe', silent ? 'ignore' : 'pipe', ...inherit],
                windowsHide: true,
                ...(account && { uid: account.uid, gid: account.gid }),
            });
            child.stdout?.on('data', (chunk) => {
                stdout += chunk.toString();
            });
            child.stderr?.on('data', (chunk) => {
                stderr += chunk.toString();
            });
            child.once('error', failed);
            child.once('close', (status) => resolve({ status: status ?? undefined, stdout, stderr }));
        }
        catch (error) {
            // Node throws when it cannot switch to the account, for example in a user namespace with only one user.
            failed(error);
        }
    });
}
//# sourceMappingURL=run.js.map