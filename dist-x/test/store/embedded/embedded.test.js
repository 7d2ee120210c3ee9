import { once } from 'node:events';
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Bench, childrenOf, isReady, isRoot, nobody, postmasterPid, query, running, unfinished, until, } from '../../support/embedded.js';
let bench;
beforeAll(() => {
    bench = new Bench();
});
afterEach(() => bench.clean());
afterAll(() => bench.remove());
describe('one process', () => {
    it('makes a database at the first start, keeps its data over a restart, and leaves nothing running', async () => {
        const dataDir = bench.dataDir();
        const first = await bench.open(dataDir);
        expect(first).toMatchObject({ database: 'gateway', username: 'gateway', origin: 'embedded', adopted: false });
        expect(first.version).toMatch(/^18\./);
        await query(first, 'create table kept as select 1 as one');
        const names = "('server_encoding', 'data_checksums', 'fsync', 'synchronous_commit', 'TimeZone', 'jit')";
        const shown = await query(first, `select name, setting from pg_settings where name in ${names}`);
        expect(Object.fromEntries(shown.map(({ name, setting }) => [name, setting]))).toEqual({
            server_encoding: 'UTF8',
            data_checksums: 'on',
            fsync: 'on',
            synchronous_commit: 'on',
            TimeZone: 'UTC',
            jit: 'off',
        });
        expect(await query(first, "select 'Z' < 'a' as bytewise, lower('ÄÖ') as low")).toEqual([
            { bytewise: true, low: 'äö' },
        ]);
        const [me] = await query(first, 'select usesuper from pg_user where usename = current_user');
        expect(me).toEqual({ usesuper: false });
        const pid = postmasterPid(dataDir);
        await first.stop();
        expect(running(pid)).toBe(false);
        const second = await bench.open(dataDir);
        expect(second.adopted).toBe(false);
        expect(await query(second, 'select one from kept')).toEqual([{ one: 1 }]);
    });
    it('listens on a socket in a private folder only, and as no root', async () => {
        const dataDir = await bench.made();
        const store = await bench.open(dataDir);
        expect(lstatSync(store.host).mode & 0o777).toBe(0o700);
        expect(await query(store, "select current_setting('listen_addresses') as addresses")).toEqual([{ addresses: '' }]);
        expect(lstatSync(`/proc/${postmasterPid(dataDir)}`).uid).not.toBe(0);
    });
    it('stops once, however often it is told to', async () => {
        const store = await bench.open(await bench.made());
        await Promise.all([store.stop(), store.stop()]);
        await store.stop();
    });
    it('works in a folder whose socket path would be too long', async () => {
        const dataDir = bench.dataDir('d'.repeat(120), 'e'.repeat(60));
        const store = await bench.open(dataDir);
        expect(await query(store, 'select 1 as one')).toEqual([{ one: 1 }]);
    });
    it('starts the server again when it is killed from outside', async () => {
        const dataDir = await bench.made();
        const store = await bench.open(dataDir);
        await query(store, 'create table kept as select 1 as one');
        const killed = postmasterPid(dataDir);
        if (killed === undefined)
            throw new Error('no postmaster');
        process.kill(killed, 'SIGKILL');
        await until(() => !running(killed) && isReady(dataDir));
        expect(await query(store, 'select one from kept')).toEqual([{ one: 1 }]);
    });
    it('is not deceived by a stale postmaster.pid whose process id is alive', async () => {
        const dataDir = await bench.made();
        const pidFile = join(dataDir, 'postgres/postmaster.pid');
        // None of these processes is the server of this database. The first process runs as the user of PostgreSQL, so
        // PostgreSQL itself would mistake this process for the server. The last process id is not in use.
        const sleeper = bench.sleeper(lstatSync(join(dataDir, 'postgres')).uid);
        for (const pid of [sleeper, 1, process.pid, 2 ** 22 - 1]) {
            writeFileSync(pidFile, `${pid}\n/elsewhere\n1\n5432\n.\n\n 1 1\nready   \n`);
            writeFileSync(join(dataDir, 'postgres/.s.PGSQL.5432.lock'), `${pid}\n`);
            const store = await bench.open(dataDir);
            expect(store.adopted).toBe(false);
            await store.stop();
        }
        expect(running(sleeper)).toBe(true);
    });
    it('waits for what an earlier server left running', async () => {
        const dataDir = await bench.made();
        const child = await bench.start(dataDir);
        child.process.kill('SIGKILL');
        await once(child.process, 'exit');
        const killed = postmasterPid(dataDir);
        if (killed === undefined)
            throw new Error('no postmaster');
        const [leftover = 0] = childrenOf(killed);
        process.kill(leftover, 'SIGSTOP');
        process.kill(killed, 'SIGKILL');
        let settled = false;
        const opening = bench.open(dataDir).finally(() => {
            settled = true;
        });
        await pause(700);
        expect(settled).toBe(false);
        process.kill(leftover, 'SIGKILL');
        expect((await opening).adopted).toBe(false);
    });
});
describe('several processes', () => {
    it('adopts the server of a process that was killed', async () => {
        const dataDir = await bench.made();
        const child = await bench.start(dataDir);
        const pid = postmasterPid(dataDir);
        child.process.kill('SIGKILL');
        await once(child.process, 'exit');
        expect(running(pid)).toBe(true);
        const store = await bench.open(dataDir);
        expect(store.adopted).toBe(true);
        expect(postmasterPid(dataDir)).toBe(pid);
        await store.stop();
        expect(running(pid)).toBe(false);
    });
    it('shares one server between processes that start at once, and the last one out stops it', async () => {
        const dataDir = await bench.made();
        const both = await Promise.all([bench.start(dataDir), bench.start(dataDir)]);
        expect(both.map(({ said }) => said.adopted).sort()).toEqual([false, true]);
        const pid = postmasterPid(dataDir);
        const starter = both.find(({ said }) => said.adopted === false);
        const adopter = both.find(({ said }) => said.adopted === true);
        await starter?.stop();
        expect(running(pid)).toBe(true);
        await adopter?.stop();
        expect(running(pid)).toBe(false);
    });
    it('does not count a killed process among the holders', async () => {
        const dataDir = await bench.made();
        const killed = await bench.start(dataDir);
        const store = await bench.open(dataDir);
        killed.process.kill('SIGKILL');
        await once(killed.process, 'exit');
        const pid = postmasterPid(dataDir);
        await store.stop();
        expect(running(pid)).toBe(false);
    });
    it('recovers from a process that was killed while it made the database', async () => {
        const dataDir = bench.dataDir();
        const child = bench.spawn(dataDir);
        await until(() => existsSync(dataDir) && unfinished(dataDir).length > 0);
        await pause(150);
        child.kill('SIGKILL');
        await once(child, 'exit');
        expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
        const store = await bench.open(dataDir);
        expect(await query(store, 'select 1 as one')).toEqual([{ one: 1 }]);
        expect(unfinished(dataDir)).toEqual([]);
    });
    it('is out of reach of the Ctrl-C of our terminal and keeps no process alive', async () => {
        const dataDir = await bench.made();
        const child = await bench.start(dataDir);
        const pid = postmasterPid(dataDir);
        if (child.process.pid === undefined || pid === undefined)
            throw new Error('nothing runs');
        process.kill(-child.process.pid, 'SIGINT');
        await once(child.process, 'exit');
        await pause(200);
        expect(running(pid)).toBe(true);
        const idle = await bench.start(await bench.made());
        idle.process.stdin?.end();
        const [status] = await once(idle.process, 'exit');
        expect(status).toBe(0);
    });
});
describe('refusals', () => {
    it('refuses a database of another major version', async () => {
        const dataDir = bench.dataDir();
        mkdirSync(join(dataDir, 'postgres'));
        writeFileSync(join(dataDir, 'postgres/PG_VERSION'), '14\n');
        await bench.refused(dataDir, /made by PostgreSQL 14, but the PostgreSQL here is 18\.\d/);
        expect(readdirSync(join(dataDir, 'postgres'))).toEqual(['PG_VERSION']);
    });
    it('refuses a folder of somebody else’s files, and touches none', async () => {
        const dataDir = bench.dataDir();
        mkdirSync(join(dataDir, 'postgres'));
        writeFileSync(join(dataDir, 'postgres/letter.txt'), 'dear');
        await bench.refused(dataDir, /is not a PostgreSQL data folder/);
        expect(readdirSync(join(dataDir, 'postgres'))).toEqual(['letter.txt']);
    });
    it('refuses a data folder that cannot be made', async () => {
        const file = join(bench.base, 'a-file');
        writeFileSync(file, '');
        await bench.refused(join(file, 'data'), /cannot be made or written \((ENOTDIR|EEXIST)\).*GATEWAY_DATA_DIR/);
    });
    it('says why a damaged database does not start', async () => {
        const dataDir = await bench.made();
        rmSync(join(dataDir, 'postgres/global/pg_control'));
        await bench.refused(dataDir, /did not start \(.*(control file|pg_control|database system).*\): see .*postgres\.log/);
    });
    it.runIf(isRoot)('refuses a folder that this user may not write, or whose database is another user’s', async () => {
        const dataDir = bench.dataDir();
        chmodSync(dataDir, 0o755);
        const readOnly = await bench.start(dataDir, { user: nobody });
        expect(readOnly.said.refused).toMatch(/cannot be made or written \(EACCES\)/);
        const others = await bench.made();
        chmodSync(others, 0o777);
        const foreign = await bench.start(others, { user: nobody });
        expect(foreign.said.refused).toMatch(/belongs to the user with uid \d+, but this process runs as uid 65534/);
    });
});
//# sourceMappingURL=embedded.test.js.map