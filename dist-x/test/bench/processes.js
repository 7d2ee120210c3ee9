import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
export function start(script, args, env) {
    const began = performance.now();
    const child = spawn(process.execPath, [script, ...args], {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = new Promise((resolve) => child.once('exit', () => resolve()));
    return new Promise((resolve, reject) => {
        let text = '';
        child.stderr.on('data', (part) => {
            text += part.toString();
            if (!/\bready\b/.test(text))
                return;
            resolve({
                process: child,
                ready: performance.now() - began,
                rss: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
                stop: async () => {
                    child.kill('SIGTERM');
                    await ended;
                },
            });
        });
        child.once('exit', (code) => reject(new Error(`${script} ended with ${code}: ${text}`)));
    });
}
/** Writes a script that runs `main` and collects garbage at SIGUSR2. Returns its path. */
export function collecting(main, folder) {
    const script = join(folder, 'collecting.mjs');
    writeFileSync(script, `import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
setFlagsFromString('--expose-gc');
process.on('SIGUSR2', runInNewContext('() => gc()'));
await import(${JSON.stringify(main)});
`);
    return script;
}
/**
 * Resident memory of the process in MB, measured after a garbage collection. Without the collection, the figure would
 * depend on the elapsed time.
 */
export async function held({ process, rss }) {
    for (let i = 0; i < 3; i++) {
        process.kill('SIGUSR2');
        await pause(200);
    }
    return rss();
}
//# sourceMappingURL=processes.js.map