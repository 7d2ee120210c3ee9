import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { digestOf } from '../../src/auth/tokens.js';
import { packageRoot } from '../../src/config/package.js';
import { issue } from '../support/credentials.js';
import { start } from './processes.js';
import { quantile } from './report.js';
import { openWorld } from './world.js';
const PORT = 8793;
const ORIGIN = 'https://app.example';
const WEBSITES = 10;
/** Less than the 4,096 connections that the gateway accepts from one network. */
const IDLE = 4_000;
/** A credential may have at most 100 realtime sessions. */
const EACH = 100;
const COMMITS = 200;
/**
 * Measures the realtime sockets of one process. The first figure is the time from a commit to the page, for 100 sockets
 * on one website and on ten websites. The second figure is the memory and the processor time of 4,000 idle sockets.
 */
export async function realtime(store, print) {
    const { sql, close } = await openWorld(store, 'realtime', 1);
    await sql.unsafe(`
    SET gateway.capture = 'off';
    INSERT INTO platform.organization (external_id, name) VALUES ('realtime', 'Realtime');
    INSERT INTO platform.website SELECT 1, s, 's' || s, 'Site', 'UTC' FROM generate_series(1, ${WEBSITES}) s`);
    const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
    const server = await start(fileURLToPath(new URL('dist/src/main.js', packageRoot)), ['serve'], {
        DATABASE_URL: `postgres://postgres@${encodeURIComponent(store.host)}:${store.port}/realtime`,
        GATEWAY_DATA_DIR: dataDir,
        PORT: String(PORT),
        LOG_LEVEL: 'silent',
    });
    const cpu = () => {
        const fields = readFileSync(`/proc/${server.process.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
        return (Number(fields[11]) + Number(fields[12])) / 100;
    };
    print(`realtime: load ${loadavg()[0]?.toFixed(2)}, ${server.rss().toFixed(0)} MB at the start`);
    for (const websites of [1, WEBSITES]) {
        const held = await sockets(sql, 100, websites);
        await pause(1_000);
        const commits = [];
        for (let i = 0; i < COMMITS; i++) {
            const site = 1 + (i % websites);
            const [{ at } = { at: 0 }] = await sql `
        SELECT position::integer + 1 AS at FROM gateway.journal_head WHERE tenant = 1 AND site = ${site}
         UNION ALL SELECT 1 LIMIT 1`;
            await sql `SELECT gateway.append_receipts(1, ${site}, ARRAY['visitor.changed'])`;
            commits.push({ site, at, committed: performance.now() });
            await pause(100);
        }
        await pause(1_000);
        const times = commits.flatMap(({ site, at, committed }) => held
            .filter((_, n) => n % websites === site - 1)
            .map(({ pages }) => Math.max(0, (pages.find(({ position }) => position >= at)?.at ?? Infinity) - committed)));
        const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantile(times, share).toFixed(1));
        const lost = times.filter((time) => time === Infinity).length;
        const late = times.filter((time) => time > 100).length;
        print(`commit to page, 100 sockets on ${websites} websites, 10 commits/s: p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms, ` +
            `max ${quantile(times, 1).toFixed(1)} ms of ${times.length}, ${late} later than 100 ms, ${lost} never`);
        for (const { socket } of held)
            socket.terminate();
        await pause(1_000);
    }
    const before = server.rss();
    const idle = await sockets(sql, IDLE, WEBSITES);
    await pause(5_000);
    const used = cpu();
    await pause(20_000);
    const share = ((cpu() - used) / 20) * 100;
    print(`${idle.filter(({ socket }) => socket.readyState === WebSocket.OPEN).length} idle sockets: ${server.rss().toFixed(0)} MB ` +
        `(${before.toFixed(0)} before), ${share.toFixed(1)} % of a core`);
    const began = performance.now();
    await sql `SELECT gateway.append_receipts(1, 1, ARRAY['visitor.changed'])`;
    const first = idle.filter((_, n) => n % WEBSITES === 0);
    while (first.some(({ pages }) => pages.length === 0) && performance.now() - began < 30_000)
        await pause(10);
    print(`a commit that ${first.length} of them wait for: the last page after ${(performance.now() - began).toFixed(0)} ms`);
    for (const { socket } of idle)
        socket.terminate();
    await pause(3_000);
    print(`${server.rss().toFixed(0)} MB when they have gone`);
    await server.stop();
    await close();
    rmSync(dataDir, { recursive: true, force: true });
}
/**
 * Opens `count` sockets. Each socket attaches to the subscription of one website, so the websites get equal numbers of
 * sockets. All sockets acknowledge their pages.
 */
async function sockets(sql, count, websites) {
    const held = [];
    let subscriptions = [];
    let issued;
    for (let n = 0; n < count; n++) {
        if (n % EACH === 0 || !issued) {
            issued = await issue(sql, 1, { origins: [ORIGIN] });
            const { installation } = issued;
            subscriptions = Array.from({ length: websites }, () => `sub_${randomBytes(16).toString('hex')}`);
            for (const [i, id] of subscriptions.entries())
                await sql `INSERT INTO gateway.subscription (id, installation_id, tenant, sites, event_types, start)
          VALUES (${id}, ${installation}, 1, ${[i + 1]}::bigint[], '{visitor.*}', 'retained')`;
            await sql `DELETE FROM gateway.journal`;
            await sql `UPDATE gateway.journal_head SET trimmed = position`;
        }
        const ticket = randomBytes(32).toString('base64url');
        const session = `rts_${randomBytes(16).toString('hex')}`;
        await sql `INSERT INTO gateway.realtime_session
        (id, credential_id, token_digest, origin, sites, expires_at, ticket_digest, ticket_expires_at)
      SELECT ${session}, ${issued.credential}, ${digestOf(issued.token)}, ${ORIGIN}, sites, now() + interval '1 hour',
             ${createHash('sha256').update(ticket).digest()}, now() + interval '30 seconds'
        FROM gateway.credential WHERE id = ${issued.credential}`;
        held.push(await socketOf(session, ticket, subscriptions[n % websites] ?? ''));
    }
    return held;
}
function socketOf(session, ticket, subscription) {
    const url = `ws://127.0.0.1:${PORT}/api/v1/realtime/sessions/${session}/socket`;
    const protocols = ['igw.realtime.v1', `ticket.${ticket}`];
    const socket = new WebSocket(url, protocols, { origin: ORIGIN, perMessageDeflate: false });
    const pages = [];
    return new Promise((resolve, reject) => {
        socket.on('error', reject);
        socket.on('message', (bytes) => {
            const frame = JSON.parse(String(bytes));
            if (frame.type === 'ready')
                socket.send(JSON.stringify({ type: 'attach', id: 1, subscription_id: subscription }));
            if (frame.type === 'attached')
                resolve({ socket, pages });
            if (frame.type !== 'page')
                return;
            pages.push({ at: performance.now(), position: frame.events.at(-1).cursor });
            socket.send(JSON.stringify({ type: 'ack', subscription_id: subscription, cursor: frame.next_cursor }));
        });
    });
}
//# sourceMappingURL=realtime.js.map