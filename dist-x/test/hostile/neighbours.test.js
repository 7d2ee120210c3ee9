import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync, } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openEmbedded } from '../../src/store/embedded/embedded.js';
import { Bench, isRoot, nobody, postmasterPid, query } from '../support/embedded.js';
import { startReplica } from '../support/replica.js';
let bench;
let made;
beforeAll(async () => {
    bench = new Bench();
    if (!isRoot)
        return;
    made = bench.dataDir();
    mkdirSync(join(made, 'postgres'), { mode: 0o700 });
    chownSync(join(made, 'postgres'), nobody.uid, nobody.gid);
    await (await bench.open(made)).stop();
});
afterEach(() => bench.clean());
afterAll(() => bench.remove());
/**
 * A program that connects to PostgreSQL with a role and prints the type of the server's first message. `R` means that
 * the server accepts the role. `E` means that the server refuses the role.
 */
const GREETING = `
  const [path, role] = process.argv.slice(1);
  const text = Buffer.from('user\\0' + role + '\\0database\\0postgres\\0\\0');
  const head = Buffer.alloc(8);
  head.writeInt32BE(text.length + 8);
  head.writeInt32BE(196608, 4);
  const socket = require('node:net').connect(path, () => socket.write(Buffer.concat([head, text])));
  socket.on('error', (error) => { console.log(error.code); process.exit(); });
  socket.once('data', (said) => {
    const authenticated = said[0] === 82 && said.readInt32BE(5) === 0;
    console.log(authenticated ? 'let in' : said.toString('latin1').replace(/[^ -~]+/g, ' '));
    process.exit();
  });`;
/**
 * Connects to the server as this user and returns the server's first message. The user may not enter the folder of the
 * socket. The path therefore leads through the working directory of the PostgreSQL process.
 */
async function greeted(dataDir, role, user) {
    const path = `/proc/${postmasterPid(dataDir)}/cwd/.s.PGSQL.5432`;
    const child = spawn(process.execPath, ['-e', GREETING, path, role], { cwd: '/', ...user });
    let said = '';
    child.stdout.on('data', (part) => {
        said += part.toString();
    });
    await once(child, 'close');
    return said.trim();
}
/** A data folder whose PostgreSQL runs as `nobody`. This happens on a machine without a user `postgres`. */
function ofNobody() {
    const dataDir = bench.dataDir();
    execFileSync('cp', ['-a', join(made, 'postgres'), dataDir]);
    return dataDir;
}
const ROLES = ['gateway', 'postgres'];
const others = async (dataDir) => Promise.all(ROLES.map((role) => greeted(dataDir, role, nobody)));
const own = async (dataDir) => Promise.all(ROLES.map((role) => greeted(dataDir, role, {})));
const REFUSED = ROLES.map((role) => expect.stringMatching(new RegExp(`Peer authentication failed for user "${role}"`)));
const LET_IN = ROLES.map(() => 'let in');
describe.runIf(isRoot)('the embedded PostgreSQL of root', () => {
    it('lets in the gateway, and no other process of the user that it runs as', async () => {
        const dataDir = ofNobody();
        const store = await bench.open(dataDir);
        expect(lstatSync(`/proc/${postmasterPid(dataDir)}`).uid).toBe(nobody.uid);
        expect(await others(dataDir)).toEqual(REFUSED);
        expect(await own(dataDir)).toEqual(LET_IN);
        expect(await query(store, 'select current_user')).toEqual([{ current_user: 'gateway' }]);
    });
    it('does so where an earlier gateway made the database and let everybody in', async () => {
        const dataDir = ofNobody();
        writeFileSync(join(dataDir, 'postgres/pg_hba.conf'), 'local all all trust\n');
        await bench.open(dataDir);
        expect(await others(dataDir)).toEqual(REFUSED);
        expect(await own(dataDir)).toEqual(LET_IN);
    });
    it('does so where it adopts a server that lets everybody in', async () => {
        const dataDir = ofNobody();
        const earlier = await bench.start(dataDir);
        const pid = postmasterPid(dataDir) ?? 0;
        writeFileSync(join(dataDir, 'postgres/pg_hba.conf'), 'local all all trust\n');
        process.kill(pid, 'SIGHUP');
        await expect.poll(() => others(dataDir)).toEqual(LET_IN);
        earlier.process.kill('SIGKILL');
        expect((await bench.open(dataDir)).adopted).toBe(true);
        expect(postmasterPid(dataDir)).toBe(pid);
        await expect.poll(() => others(dataDir)).toEqual(REFUSED);
        expect(await own(dataDir)).toEqual(LET_IN);
    });
    it('lets in a gateway of the server’s user while both run, and not when that has gone', async () => {
        const dataDir = ofNobody();
        chownSync(dataDir, nobody.uid, nobody.gid);
        const theirs = await bench.start(dataDir, { user: nobody });
        expect(theirs.said).toMatchObject({ adopted: false });
        const roots = await bench.open(dataDir);
        expect(await Promise.all([own(dataDir), others(dataDir)])).toEqual([LET_IN, LET_IN]);
        await Promise.all([theirs.stop(), roots.stop()]);
        const alone = await bench.open(dataDir);
        expect(await others(dataDir)).toEqual(REFUSED);
        // The second gateway runs as the user of the server, so the server must accept this gateway. From then on, the
        // server also accepts other processes of this user.
        const later = await bench.start(dataDir, { user: nobody });
        expect(later.said).toMatchObject({ adopted: true });
        expect(await Promise.all([own(dataDir), others(dataDir)])).toEqual([LET_IN, LET_IN]);
        await later.stop();
        await alone.stop();
    });
    it('goes on under a uid that has no name', async () => {
        const dataDir = ofNobody();
        execFileSync('chown', ['-R', '54321:54321', dataDir]);
        const nameless = await bench.start(dataDir, { user: { uid: 54321, gid: 54321 } });
        expect(nameless.said).toMatchObject({ adopted: false });
    });
    it('warns where its user is nobody, and says what to do', async () => {
        const dataDir = ofNobody();
        const warned = [];
        const store = await openEmbedded({ dataDir, log: () => undefined, warn: (message) => warned.push(message) });
        await store.stop();
        expect(warned).toEqual([
            `PostgreSQL runs as the user nobody, so every other program of that user can read and change the database files: stop the gateway, make a user (useradd --system postgres), give it the files (chown -R postgres ${dataDir}/postgres) and start again, or set DATABASE_URL`,
        ]);
    });
    it('writes through no link that the server’s user has put in the place of a file', async () => {
        const dataDir = ofNobody();
        const target = join(bench.base, 'of-root');
        writeFileSync(target, 'mine', { mode: 0o600 });
        for (const name of ['pg_hba.conf', 'pg_hba.conf.new', 'pg_ident.conf', 'pg_ident.conf.new']) {
            execFileSync('ln', ['-sfn', target, join(dataDir, 'postgres', name)]);
        }
        await bench.open(dataDir);
        expect(readFileSync(target, 'utf8')).toBe('mine');
        expect(lstatSync(target).uid).toBe(0);
        expect(await others(dataDir)).toEqual(REFUSED);
    });
    it('runs no copy of its programs from a folder where others could exchange it', async () => {
        const { built } = bench.installation('closed', 0o700);
        const temporary = bench.temporary();
        for (const [mode, used] of [
            [0o777, false],
            [0o1777, true],
        ]) {
            chmodSync(temporary, mode);
            const dataDir = ofNobody();
            const child = await bench.start(dataDir, { built });
            const program = readlinkSync(`/proc/${postmasterPid(dataDir)}/exe`);
            await child.stop();
            expect(program.startsWith(temporary), program).toBe(used);
        }
    });
    it('is told of in the log of `serve`, which writes its token through no link', async () => {
        const dataDir = ofNobody();
        const target = join(bench.base, 'of-root-too');
        writeFileSync(target, 'mine', { mode: 0o644 });
        symlinkSync(target, join(dataDir, 'demo-token.json'));
        chmodSync(dataDir, 0o755);
        const replica = await startReplica({ databaseUrl: '', env: { GATEWAY_DATA_DIR: dataDir, LOG_LEVEL: 'info' } });
        expect(readFileSync(target, 'utf8')).toBe('mine');
        expect(lstatSync(join(dataDir, 'demo-token.json')).mode & 0o177777).toBe(0o100600);
        expect(await others(dataDir)).toEqual(REFUSED);
        expect(replica.log()).toMatch(/"level":"?(warn|40)"?.*PostgreSQL runs as the user nobody, .*useradd --system postgres/);
        expect(replica.log()).toMatch(/was open to other users \(mode 0755\): its mode is 0700 now/);
        await replica.end();
    });
});
//# sourceMappingURL=neighbours.test.js.map