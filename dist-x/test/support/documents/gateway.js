import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
const PATIENCE = 60_000;
/** Runs a command that starts a gateway, as a reader does. Resolves when it is ready. */
export async function launch(command, folder, env) {
    // `npm start` starts further processes, so the command has its own process group.
    const child = spawn('bash', ['-c', command], {
        cwd: folder,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'ignore', 'pipe'],
        detached: true,
    });
    const group = -(child.pid ?? Number.NaN);
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (part) => {
        text += part;
    });
    const alive = () => {
        try {
            return process.kill(group, 0);
        }
        catch {
            return false; // no process of the group is left
        }
    };
    const stop = async () => {
        if (alive())
            process.kill(group, 'SIGTERM');
        for (const end = Date.now() + PATIENCE; alive(); await pause(50)) {
            if (Date.now() > end)
                throw new Error(`${command} does not end: ${text}`);
        }
    };
    for (const end = Date.now() + PATIENCE; !/\bready on\b/.test(text); await pause(50)) {
        if (alive() && Date.now() < end)
            continue;
        await stop();
        throw new Error(`${command} is not ready: ${text}`);
    }
    return { said: () => text, stop };
}
//# sourceMappingURL=gateway.js.map