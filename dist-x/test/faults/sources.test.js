import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { openProbe } from '../support/chatwoot/lag.js';
import { simulate } from '../support/chatwoot/simulator.js';
import { misordered } from '../support/chatwoot/stored.js';
import { closeClusters } from '../support/cluster.js';
import { doctor } from '../support/doctor.js';
import { leaks, receipts } from '../support/faults/source-audit.js';
import { openFleet } from '../support/faults/source-faults.js';
import { openSourceWorld, PERIOD, STORE } from '../support/faults/sources.js';
import { LONG } from '../support/form.js';
import { generator } from '../support/random.js';
/**
 * The proof of live sources. A simulator does to Chatwoot what its application does, while gateways and servers die. At
 * rest, the store equals the oracle row for row. The long form has 200 changes a second for ten minutes, ten kills of
 * the gateway, and three crashes of each server, in each mode alone: TEST_FORM=long npx vitest run test/faults/sources.test.ts -t live
 */
const SEED = Number(process.env['SOURCES_SEED'] ?? 1);
const MINUTES = Number(process.env['SOURCES_MINUTES'] ?? 10);
/** Actions a second. One action has one to six transactions. */
const RATE = Number(process.env['SOURCES_RATE'] ?? (LONG ? 200 : 50));
const FORM = LONG
    ? { seconds: MINUTES * 60, population: { conversations: 5_000, messages: 50_000, seed: SEED } }
    : { seconds: 9, population: { conversations: 200, messages: 1_500, seed: SEED } };
/** Each entry is one world. In the short form, sources of both modes read the same Chatwoot. */
const MODES = process.env['SOURCES_MODES']?.split(' ') ?? (LONG ? ['live', 'poll'] : ['live,poll']);
/** The resident memory in MB that a gateway must not exceed. */
const MEMORY = 500;
/** The keys of test/support/sources.ts. */
const KEYS = `1:${Buffer.alloc(32, 7).toString('base64')}`;
const lines = [];
afterAll(async () => {
    process.stdout.write(`${lines.join('\n')}\n`);
    await closeClusters();
});
/** The faults of the long form come one after the other, so that the times of the faults are apart. */
async function longFaults(fleet, seconds) {
    const began = performance.now();
    const plan = Array.from({ length: 10 }, () => () => fleet.killHolder());
    for (const server of ['chatwoot', 'store', 'chatwoot', 'store', 'chatwoot', 'store'])
        plan.splice(plan.length - ((plan.length * 3) % 7) - 1, 0, () => fleet.crash(server));
    plan.splice(5, 0, () => fleet.freezeHolder(15_000));
    plan.splice(12, 0, () => fleet.freezeHolder(15_000));
    const apart = (seconds * 1000) / (plan.length + 1);
    for (const [i, fault] of plan.entries()) {
        await pause(Math.max(0, began + (i + 0.5) * apart - performance.now()));
        await fault();
    }
}
/** While the holder of the first source is stopped, the other gateway dies too. So a third gateway takes over. */
async function shortFaults(fleet) {
    await pause(800);
    await fleet.crash('chatwoot');
    await pause(500);
    await fleet.crash('store');
    await pause(1_000);
    const frozen = fleet.freezeHolder(3_500);
    await pause(2_500);
    await fleet.killHolder();
    await frozen;
}
/** In each account, a transaction stays open while later transactions commit and are read. */
async function commitLate({ rails }) {
    const insert = (text) => `INSERT INTO messages (content, account_id, inbox_id, conversation_id, message_type, created_at, updated_at)
     SELECT '${text}', account_id, inbox_id, id, 0, now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC'
       FROM conversations WHERE id IN (SELECT max(id) FROM conversations GROUP BY account_id)`;
    const late = rails.unsafe(`${insert('late')}; SELECT pg_sleep(2)`).simple();
    for (let i = 0; i < 4; i++) {
        await pause(400);
        await rails.unsafe(insert(`early ${i}`));
    }
    await late;
}
const told = ({ seen, p50, p99, max }) => `${seen} seen, p50 ${p50}, p99 ${p99}, max ${max} ms`;
const outside = (windows) => (at) => !windows.some(({ from, until }) => at >= from && at <= until);
async function prove(world, fleet, modes) {
    const { rails, sql, sources } = world;
    let began = performance.now();
    const since = () => {
        const took = ((performance.now() - began) / 1000).toFixed(1);
        began = performance.now();
        return `${took} s`;
    };
    expect(await world.settled(60_000)).toEqual([]);
    for (const { tenant } of sources)
        expect(await misordered(sql, tenant)).toEqual([]);
    lines.push(`first load: ${since()}`);
    const probes = modes.map((mode) => {
        const tenants = new Map(sources.filter((one) => one.mode === mode).map((one) => [one.account, one.tenant]));
        return { mode, probe: openProbe(sql, tenants, LONG ? 20 : 3) };
    });
    const running = simulate(rails, {
        seed: SEED,
        seconds: FORM.seconds,
        rate: RATE,
        committed: (change) => {
            for (const { mode, probe } of probes) {
                // Polling learns of a deleted conversation by a comparison only.
                if (mode === 'live' || change.what !== 'gone')
                    probe.committed(change);
            }
        },
    });
    const [simulated] = await Promise.all([running, LONG ? longFaults(fleet, FORM.seconds) : shortFaults(fleet)]);
    const { actions, transactions, jobs, refused, forgotten, swept, seconds, kinds } = simulated;
    lines.push(`simulator: seed ${SEED}, ${seconds.toFixed(0)} s, ${actions} actions of ${kinds.size} kinds, ${transactions} transactions ` +
        `(${(transactions / seconds).toFixed(0)} a second), ${jobs} jobs, ${refused} refused, ${forgotten} of unknown outcome, ${swept} swept`);
    const by = new Map();
    for (const { what } of fleet.windows)
        by.set(what, (by.get(what) ?? 0) + 1);
    lines.push(`faults: ${[...by].map(([what, n]) => `${n} × ${what}`).join(', ')}; ${await fleet.takeovers()} take-overs`);
    since();
    // A probe waits for changes that the store can never show, for example a message that was deleted at once.
    const stopped = probes.map(({ mode, probe }) => ({
        mode,
        lags: probe.stop(10_000 + (mode === 'poll' ? 2_000 * PERIOD : 0)),
    }));
    await commitLate(world);
    await world.compared(120_000);
    expect(await world.settled(30_000)).toEqual([]);
    lines.push(`at rest: equal to the oracle after ${since()}`);
    const calm = [];
    for (const { mode, lags } of stopped) {
        const lag = await lags;
        const figures = lag.of(outside(fleet.windows));
        calm.push([mode, figures]);
        lines.push(`lag ${mode}: all ${told(lag)}; outside of faults ${told(figures)}; ${lag.unseen.length} never seen`);
    }
    const { due, missing, types } = await receipts(sql);
    lines.push(`receipts: ${due} due, ${missing.length} missing; ${JSON.stringify(types)}`);
    expect(missing).toEqual([]);
    expect(due).toBeGreaterThan(100);
    expect(Object.keys(types).filter((type) => /snapshot|gap/.test(type))).toEqual([]);
    expect(Object.keys(types)).toEqual(expect.arrayContaining([
        ...['conversation.changed', 'conversation.removed', 'visitor.changed', 'visitor.removed', 'privacy.removed'],
        ...['queue.changed', 'operator.changed', 'website.changed'],
    ]));
    expect(await leaks(world)).toEqual([]);
    const rejects = await sql `
    SELECT pointer || ' ' || code AS code, count(*)::integer AS n FROM gateway.source_reject GROUP BY 1 ORDER BY 1`;
    lines.push(`rejects: ${rejects.map(({ code, n }) => `${n} ${code}`).join(', ')}`);
    const findings = await doctor({ name: STORE, host: '127.0.0.1', port: world.servers.store.port });
    expect(findings.filter((one) => !JSON.stringify(one).includes('rows of live sources'))).toEqual([]);
    const { most, last, cpu } = fleet.spent();
    lines.push(`a gateway: memory at most ${most} MB, at the end ${last.join(' and ')} MB; all gateways: ${cpu.toFixed(0)} s of CPU`);
    expect(most).toBeLessThan(MEMORY);
    for (const [mode, { p99 }] of calm) {
        // The short form has faults all the time.
        if (LONG)
            expect(p99, `lag of ${mode}`).toBeLessThanOrEqual(mode === 'live' ? 2_000 : 2_000 * PERIOD);
    }
}
test.each(MODES)('at rest, sources (%s) equal Chatwoot row for row, whatever died meanwhile', async (named) => {
    const modes = named.split(',').filter((mode) => mode === 'live' || mode === 'poll');
    const opened = performance.now();
    const world = await openSourceWorld(modes, FORM.population);
    const fleet = await openFleet(world, { impatient: !LONG, keys: KEYS, random: generator(SEED) });
    lines.push(`${named}: opened in ${((performance.now() - opened) / 1000).toFixed(1)} s`);
    try {
        await prove(world, fleet, modes);
    }
    catch (error) {
        lines.push(fleet.logs().slice(-2_000));
        throw error;
    }
    finally {
        await fleet.close();
        await world.close();
    }
}, LONG ? (MINUTES + 10) * 60_000 : 120_000);
//# sourceMappingURL=sources.test.js.map