import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package.js';
import { PeriodicJob } from '../flow/periodic-job.js';
import { watchParents } from './parent.js';
/**
 * `npm run dev`: after each change, compiles and restarts `gateway serve` with the demo data and a debugger port. The
 * watch mode of the compiler is not used, because it missed every change after the first (22 November 2026). The option
 * `--inspect HOST:PORT` sets the debugger's address.
 */
const WATCHED = ['src', 'tools', 'skills', 'prompts', 'resources', 'llms'];
/** Milliseconds between a change and the build. The build waits, because an editor can write several files at once. */
const QUIET = 150;
const { values } = parseArgs({ options: { inspect: { type: 'string', default: '127.0.0.1:9229' } } });
const root = fileURLToPath(packageRoot);
const say = (text) => process.stdout.write(`dev: ${text}\n`);
const run = (command, args) => spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
const runs = (child) => child !== undefined && child.exitCode === null && child.signalCode === null;
let server;
const end = async () => {
    if (!runs(server))
        return;
    server.kill('SIGTERM');
    await once(server, 'exit');
};
const job = new PeriodicJob({
    run: async (stop) => {
        // npm puts the project's own tsc on PATH.
        const [code] = await once(run('tsc', ['--build', '--noCheck']), 'exit');
        if (code !== 0)
            say('it cannot be built, so the old server keeps running');
        if (code !== 0 || stop.aborted)
            return;
        await end();
        server = run(process.execPath, [
            `--inspect=${values.inspect}`,
            '--enable-source-maps',
            'dist/src/main.js',
            'serve',
        ]);
    },
    onError: (error) => say(String(error)),
});
let timer;
for (const folder of WATCHED) {
    watch(`${root}/${folder}`, { recursive: true }, (_event, name) => {
        clearTimeout(timer);
        timer = setTimeout(() => {
            say(`${folder}/${name ?? ''} changed`);
            job.wake();
        }, QUIET);
    });
}
const stop = () => {
    clearTimeout(timer);
    void job
        .stop()
        .then(end)
        .then(() => process.exit(0));
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.once(signal, stop);
watchParents(true, stop);
say(`debugger at ${values.inspect} (chrome://inspect, or "attach" in an editor); Ctrl-C ends it`);
job.wake();
//# sourceMappingURL=dev.js.map