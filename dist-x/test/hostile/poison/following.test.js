import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createChatwoot } from '../../support/chatwoot/populate.js';
import { seed } from '../../support/chatwoot/source-rows.js';
import { chatwootWorld } from '../../support/chatwoot/source-world.js';
import { freshDatabase } from '../../support/database.js';
import { insertAll, recordAt } from '../../support/poison/as-rows.js';
import { CORPUS } from '../../support/poison/corpus.js';
import { culprits, NEIGHBOUR_MS, openNeighbour, peakOf, told } from '../../support/poison/door.js';
import { outcomesOf, tableOf, unfollowed } from '../../support/poison/outcomes.js';
import { addSource, runSources } from '../../support/sources.js';
/** The memory of a gateway that follows two sources full of poison and serves meanwhile, in MB. */
const FOLLOWING_MB = 600;
/** The whole corpus is followed in so many milliseconds. It took 46 s on two cores with a load of 8. */
const PATIENCE = 240_000;
const ITEMS = CORPUS.filter((item) => recordAt(0, item) !== undefined);
const KEYS = { GATEWAY_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}` };
let neighbour;
let desk;
beforeAll(async () => {
    neighbour = await openNeighbour(KEYS);
    desk = await openDesk();
}, 200_000);
afterAll(async () => {
    await neighbour.close();
    await desk.close();
});
async function openDesk() {
    const world = await chatwootWorld({ schema: false });
    await createChatwoot(world.sql);
    await seed(world.sql);
    await world.grant('live');
    return world;
}
const sourceOf = (database, world, mode) => addSource(database, { address: world.address(), mode, organization: `poison ${mode}`, period: 1 });
async function followsBy(source, patience = 30_000) {
    await expect
        .poll(() => source.state(), { timeout: patience })
        .toMatchObject({ state: 'following', last_error: null });
}
/** Waits until every sentinel is in the organization. Returns the items whose sentinel stays away. */
async function settled(database, tenant, items, patience) {
    for (const end = performance.now() + patience;; await pause(200)) {
        const missing = await unfollowed(database.sql, tenant, items);
        if (missing.length === 0 || performance.now() > end)
            return missing;
    }
}
/** Follows some items with a store and a Chatwoot of their own. */
const passes = (mode) => async (some) => {
    const [database, world] = await Promise.all([freshDatabase(), openDesk()]);
    const source = await sourceOf(database, world, mode);
    const running = runSources(database);
    try {
        await followsBy(source);
        await insertAll(world.sql, some, CORPUS);
        return (await settled(database, source.tenant, some, 15_000 + 100 * some.length)).length === 0;
    }
    finally {
        await running.stop();
        await database.close();
        await world.close();
    }
};
async function followed(source, impossible) {
    const { sql } = neighbour.database;
    const rejects = await sql `
    SELECT origin, code FROM gateway.source_reject WHERE source = ${source.id}`;
    const codes = new Map(rejects.map(({ origin, code }) => [origin, code]));
    return outcomesOf(sql, source.tenant, ITEMS, recordAt, (item) => {
        if (impossible.has(item))
            return 'impossible';
        const code = codes.get(recordAt(CORPUS.indexOf(item), item)?.origin ?? '');
        return code === undefined ? undefined : `rejected ${code}`;
    });
}
/** The outcomes, when no item is on its way any more. A poll reads names of operators and teams after the messages. */
async function ended(source, impossible) {
    for (const end = performance.now() + 30_000;; await pause(1_000)) {
        const outcomes = await followed(source, impossible);
        if (![...outcomes.values()].includes('lost') || performance.now() > end)
            return outcomes;
    }
}
test('a Chatwoot of poison, live and polled: every next row arrives, no row is lost, and the neighbour is served', async () => {
    const { database, gateway } = neighbour;
    const sources = {
        live: await sourceOf(database, desk, 'live'),
        poll: await sourceOf(database, desk, 'poll'),
    };
    await Promise.all([followsBy(sources.live), followsBy(sources.poll)]);
    const impossible = await insertAll(desk.sql, ITEMS, CORPUS);
    const began = performance.now();
    const lost = [];
    for (const mode of ['live', 'poll']) {
        const source = sources[mode];
        const missing = await settled(database, source.tenant, ITEMS, PATIENCE - (performance.now() - began));
        const seconds = ((performance.now() - began) / 1000).toFixed(1);
        const possible = ITEMS.filter((item) => !impossible.has(item));
        if (missing.length > 0)
            expect.fail(`${mode}: ${missing.length} sentinels are missing. At fault: ${await culprits(possible, passes(mode))}. The gateway says: ${(await source.state()).last_error}`);
        const outcomes = await ended(source, impossible);
        console.info(tableOf(`following, ${mode}`, outcomes, { seconds }));
        for (const [{ name }, outcome] of outcomes)
            if (outcome === 'lost')
                lost.push(`${mode}: ${name}`);
    }
    const seen = neighbour.seen();
    const peak = peakOf(gateway.pid);
    console.info(`following: ${JSON.stringify({ 'peak MB of the gateway': Math.round(peak), ...told(seen) })}`);
    expect(lost).toEqual([]);
    for (const source of Object.values(sources))
        expect(await source.state()).toMatchObject({ state: 'following', last_error: null });
    expect(seen.failed).toBe(0);
    expect(seen.excess).toBeLessThan(NEIGHBOUR_MS);
    expect(peak).toBeLessThan(FOLLOWING_MB);
}, 600_000);
//# sourceMappingURL=following.test.js.map