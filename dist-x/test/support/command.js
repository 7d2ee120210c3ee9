import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.js';
export const checkout = fileURLToPath(packageRoot);
export const main = join(checkout, 'dist/src/main.js');
/** The environment of a person's shell, without anything of the test run, PostgreSQL or npm. */
export const shellEnvironment = (env = {}) => ({
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(GATEWAY_|PG|VITEST|NODE_|npm_|DATABASE_URL|LOG_|PORT$)/i.test(name))),
    ...env,
});
export const urlOf = ({ host, port, name }) => `postgres://postgres@${encodeURIComponent(host)}:${port}/${name}`;
/** Runs the command line in its own process. With `input`, the process has a terminal on which this text is typed. */
export async function command(database, argv, input) {
    const words = [process.execPath, main, ...argv];
    const [program = '', ...args] = input === undefined ? words : ['script', '-qefc', words.map((word) => `'${word}'`).join(' '), '/dev/null'];
    const child = spawn(program, args, {
        cwd: checkout,
        env: shellEnvironment({ DATABASE_URL: urlOf(database), TERM: 'dumb' }),
        stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    const written = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
        child[name]?.on('data', (part) => {
            written[name] += part.toString();
            // Type only after the question: a terminal drops earlier input.
            if (input !== undefined && /\[y\/N\] $/.test(written[name]))
                child.stdin?.write(input);
        });
    const code = await new Promise((resolve) => child.once('close', resolve));
    return { code: code ?? -1, ...written };
}
//# sourceMappingURL=command.js.map