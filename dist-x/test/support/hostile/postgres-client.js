import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { checkout } from '../command.js';
/** Timeout (ms) of a statement and of a connection. The driver waits 500 ms more. */
const PATIENCE = 300;
const DEADLINE = 2 * PATIENCE + 500 + 1_500;
/** Runs the client in its own process. Undefined if it does not end in time, or crashes. */
export function askHostile(port, cases, { planted = false, patience = PATIENCE, limit = 25_000, together = 12 } = {}) {
    const script = join(checkout, 'test/support/hostile/postgres-client.mjs');
    const args = [
        script,
        join(checkout, 'dist'),
        String(port),
        JSON.stringify(cases),
        String(patience),
        String(together),
    ];
    const child = spawn(process.execPath, args, {
        env: { PATH: process.env['PATH'], PLANTED: planted ? '1' : '0' },
        stdio: ['ignore', 'pipe', 'inherit'],
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), limit);
    let written = '';
    child.stdout.on('data', (part) => (written += part.toString()));
    return new Promise((resolve) => child.once('close', (code) => {
        clearTimeout(timer);
        resolve(code === 0 ? JSON.parse(written) : undefined); // the client has written this document
    }));
}
export const wellBehaved = ({ uncaught, longest, peak, found }) => {
    expect(uncaught).toEqual([]);
    expect(longest, 'milliseconds of the event loop').toBeLessThan(250);
    expect(peak, 'MiB of memory').toBeLessThan(700);
    expect(found.filter(({ took }) => took > DEADLINE)).toEqual([]);
};
//# sourceMappingURL=postgres-client.js.map