import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { demoRecords } from '../../src/sources/files/demo.js';
import { importRecords } from '../../src/sources/files/import.js';
import { openStore } from '../../src/store/open/open.js';
import { issue } from '../support/credentials.js';
import { ORIGIN } from '../support/events/realtime.js';
import { ALL_FAMILIES } from '../support/events/subscriptions.js';
import { addEndpoint, answer, openReceiver, until, verified } from '../support/events/webhooks.js';
import { eventually } from '../support/eventually.js';
import { CONTACT, FENCED, Load, WEBSITE } from '../support/faults/failover.js';
import { note, restOf } from '../support/ledger/commands.js';
import { openPatroni, withoutPatroni } from '../support/patroni.js';
import { DEMO_NOW } from '../support/postgres.js';
import { startReplica } from '../support/replica.js';
/**
 * High availability on a real Patroni: its leader is killed, frozen and replaced while two gateways serve, one through
 * HAProxy and one with all hosts in DATABASE_URL. The long form prints the table of docs/high-availability.md:
 * `PATRONI_KILLS=10 npx vitest run test/faults/patroni.test.ts`
 */
const KILLS = Number(process.env['PATRONI_KILLS'] ?? 3);
const LONG = KILLS > 3;
const DATABASE = 'gateway';
/** Milliseconds from the promotion until a gateway works again. */
const BACK = 5_000;
if (withoutPatroni !== undefined)
    process.stdout.write(`${withoutPatroni}\n`);
const KILL = {
    what: 'leader killed',
    harm: async (_, leader) => {
        await leader.kill();
        return () => leader.start();
    },
};
const SWITCHOVER = {
    what: 'switchover',
    harm: async (cluster, leader) => {
        await cluster.switchover(leader);
        return () => undefined;
    },
};
const frozen = (what) => ({
    what: what === 'all' ? 'leader frozen' : 'only its Patroni frozen',
    harm: async (_, leader) => {
        leader.freeze(what);
        return () => leader.thaw();
    },
});
const times = (n, fault) => Array.from({ length: n }, () => fault);
const FAULTS = [
    ...times(KILLS, KILL),
    ...times(LONG ? 3 : 1, SWITCHOVER),
    ...times(LONG ? 2 : 1, frozen('all')),
    ...times(LONG ? 2 : 1, frozen('patroni')),
];
async function openWorld() {
    const cluster = await openPatroni();
    const leader = await cluster.whole();
    await leader.with('postgres', (sql) => sql.unsafe(`CREATE DATABASE ${DATABASE}`));
    const receiver = await openReceiver(answer(200));
    const databaseUrl = cluster.hosts(DATABASE);
    const store = await openStore({ databaseUrl, dataDir: '/nowhere', connections: 2, log: () => undefined });
    await importRecords(store.slow, demoRecords(new Date(DEMO_NOW)), {});
    const caller = await leader.with(DATABASE, (sql) => issue(sql, 1, { authors: ['opr_1_1_1'], origins: [ORIGIN] }));
    const { secret } = await addEndpoint(store, caller.credential, receiver.url, {
        eventTypes: ALL_FAMILIES.map((family) => `${family}.*`),
    });
    await store.close();
    const { length: before } = await journalOf(leader);
    return { cluster, caller, receiver, secret, before };
}
async function journalOf(leader) {
    const rows = await leader.with(DATABASE, (sql) => sql `
      SELECT position::integer FROM gateway.journal WHERE (tenant, site) = (1, 1) ORDER BY position`);
    return rows.map(({ position }) => position);
}
const seconds = (milliseconds) => `${(milliseconds / 1_000).toFixed(1)} s`;
/** One fault, from the harm until all three nodes are whole again. Prints a row of the table for each gateway. */
async function strike({ what, harm }, { n, cluster, gateways, load }) {
    const leader = await cluster.whole();
    const victim = await leader.with(DATABASE, (sql) => issue(sql, 1));
    const paths = [CONTACT, '/api/v1/search?query=order', '/api/v1/websites'];
    for (const gateway of gateways)
        for (const path of paths)
            await eventually(async () => expect((await load.call(gateway, path, { token: victim.token })).status, path).toBe(200));
    const struck = performance.now();
    // A switchover is answered only when it has ended.
    const promotion = cluster.leader(leader).then((next) => ({ next, promoted: performance.now() }));
    const [over, { next, promoted }] = await Promise.all([harm(cluster, leader), promotion]);
    // Patroni says so before PostgreSQL takes writes. The commit waits for a synchronous standby of the new leader.
    const revoke = () => next.with(DATABASE, (sql) => sql `
        WITH renamed AS (UPDATE platform.contact SET name = ${`generation-${n}`} WHERE (tenant, site, id) = (1, 1, 1))
        UPDATE gateway.credential SET revoked_at = now() WHERE id = ${victim.credential}`);
    await eventually(revoke, 60_000);
    const revoked = performance.now();
    load.generation(n);
    let stopped = false;
    const calling = async (gateway) => {
        let refused = 0;
        for (let i = 0; !stopped || refused === 0; i++) {
            const [began, path] = [performance.now(), paths[i % paths.length] ?? ''];
            const { status } = await load.call(gateway, path, { token: victim.token });
            if (status === 401)
                refused++;
            else if (status !== 503 && began - revoked >= FENCED)
                load.wrong.add(`${gateway.name}: ${path} ${status}, ${seconds(began - revoked)} after the token was revoked`);
            await pause(50);
        }
    };
    const refused = Promise.all(gateways.map(calling));
    try {
        for (const gateway of gateways) {
            const reads = await load.back(gateway, 'read', promoted);
            const writes = await load.back(gateway, 'write', promoted);
            const row = [
                ...[what, gateway.name, `promoted after ${seconds(promoted - struck)}`],
                `silence of reads ${seconds(load.silence(gateway, 'read', struck))}`,
                `of writes ${seconds(load.silence(gateway, 'write', struck))}`,
                `after the promotion: commits ${seconds(revoked - promoted)}`,
                `reads ${seconds(reads - promoted)}, writes ${seconds(writes - promoted)}`,
            ].join(', ');
            process.stdout.write(`${n}: ${row}\n`);
            // A busy machine gives the new leader its standby late. Without one, no commit ends, and nobody may be answered.
            expect(Math.max(reads, writes) - Math.max(promoted, revoked), row).toBeLessThan(BACK);
        }
        await pause(Math.max(0, revoked + FENCED + 1_000 - performance.now()));
        over();
        await cluster.whole();
    }
    finally {
        stopped = true;
    }
    await refused;
}
it.skipIf(withoutPatroni !== undefined)('while leaders are killed, frozen and replaced, no acknowledged write is lost or doubled, and a demoted leader answers nobody', async () => {
    const { cluster, caller, receiver, secret, before } = await openWorld();
    const env = {
        GATEWAY_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
        GATEWAY_WEBHOOK_ALLOW: receiver.origin,
        GATEWAY_WEBHOOK_SCHEDULE: '0,1,1,1,1',
    };
    const addresses = [cluster.proxied(DATABASE), cluster.hosts(DATABASE)];
    const replicas = await Promise.all(addresses.map((databaseUrl) => startReplica({ databaseUrl, env })));
    const gateways = replicas.map(({ url }, i) => ({ name: i === 0 ? 'HAProxy' : 'hosts', url }));
    const load = new Load(gateways, caller.token);
    try {
        load.start();
        for (const [i, fault] of FAULTS.entries())
            await strike(fault, { n: i + 1, cluster, gateways, load });
        const leader = await cluster.whole();
        const delivered = () => new Set(receiver.got.map(({ id }) => id));
        let head = -1;
        await load.end(() => until(async () => {
            const last = head;
            head = (await journalOf(leader)).length;
            const told = [...load.readers.values()].every((taken) => taken.reached(new Map([[WEBSITE, head]])));
            return last === head && told && delivered().size >= head - before;
        }, 60_000).catch(() => undefined));
        expect([...load.wrong]).toEqual([]);
        const positions = await journalOf(leader);
        expect(positions).toEqual(Array.from({ length: positions.length }, (_, i) => i + 1));
        for (const [name, taken] of load.readers) {
            expect([name, ...taken.wrong]).toEqual([name]);
            expect(taken.positions.get(WEBSITE), name).toEqual(positions);
        }
        const ids = load.readers.get('socket')?.ids ?? new Map();
        const due = positions.slice(before).flatMap((position) => ids.get(`${WEBSITE} ${position}`) ?? []);
        expect([...delivered()].toSorted()).toEqual(due.toSorted());
        expect(receiver.got.filter((got) => !verified(secret, got))).toEqual([]);
        const notes = await leader.with(DATABASE, (sql) => sql `
          SELECT text, count(*)::integer AS n FROM platform.note WHERE text LIKE 'failover-%' GROUP BY text`);
        const kept = new Set(notes.map(({ text }) => text));
        const lost = [...load.acknowledged.keys()].filter((text) => !kept.has(text));
        const doubled = notes.filter(({ n }) => n > 1);
        expect([lost, doubled]).toEqual([[], []]);
        expect(load.acknowledged.size).toBeGreaterThan(30 * FAULTS.length);
        // The same key has the same answer, at every gateway.
        for (const [text, told] of [...load.acknowledged].filter((_, i) => i % 40 === 0)) {
            const { path, body } = restOf(note(text));
            for (const gateway of gateways) {
                const again = await load.call(gateway, path, { key: text, body });
                expect(again).toEqual({ status: 200, text: told, replayed: true });
            }
        }
        const tasks = await leader.with(DATABASE, (sql) => sql `SELECT id, state FROM gateway.task`);
        expect(tasks.map(({ id }) => id).toSorted()).toEqual([...load.tasks.values()].toSorted());
        expect(tasks.filter(({ state }) => !/completed|failed/.test(state))).toEqual([]);
        process.stdout.write(`${FAULTS.length} faults, ${load.attempts} calls: ${load.acknowledged.size} notes acknowledged, lost ${lost.length}, ` +
            `doubled ${doubled.length}; ${positions.length} receipts, ${receiver.got.length} deliveries; ${tasks.length} tasks\n`);
        for (const replica of replicas)
            expect(await replica.end()).toEqual({ code: 0, signal: null });
    }
    finally {
        for (const what of [...load.wrong].slice(0, 20))
            process.stdout.write(`${what}\n`);
        load.abandon();
        await receiver.close();
    }
}, 900_000);
//# sourceMappingURL=patroni.test.js.map