import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BATCH, BatchQueues, LENGTH } from '../../src/flow/batch-queues.js';
const arrival = fc.record({
    queue: fc.integer({ min: 0, max: 4 }),
    pause: fc.constantFrom(0, 0, 0, 1, 5),
    fails: fc.boolean(),
});
it('answers each item once, from its own run and after it; a queue runs one at a time and in order', async () => {
    await fc.assert(fc.asyncProperty(fc.array(arrival, { minLength: 1, maxLength: 60 }), fc.array(fc.constantFrom(0, 1, 2, 8), { minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 4 }), async (arrivals, durations, slots) => {
        const queueOf = (item) => arrivals[item]?.queue ?? -1;
        const under = [];
        const ended = [];
        const queues = new BatchQueues({
            slots,
            patience: 5_000,
            run: async (items, slot) => {
                const queue = queueOf(items[0] ?? -1);
                const run = { queue, slot, items };
                expect(items.length).toBeLessThanOrEqual(BATCH);
                expect(items.every((item) => queueOf(item) === queue)).toBe(true);
                expect(under.map((other) => other.queue)).not.toContain(queue);
                expect(under.map((other) => other.slot)).not.toContain(slot);
                // Queues with even numbers form one group, and queues with odd numbers form a second group. A group may use
                // at most half of the slots.
                const ofGroup = under.filter((other) => other.queue % 2 === queue % 2).length + 1;
                expect(ofGroup).toBeLessThanOrEqual(Math.max(1, Math.ceil(slots / 2)));
                under.push(run);
                await pause(durations[ended.length % durations.length]);
                under.splice(under.indexOf(run), 1);
                ended.push(run);
                if (items.length % 5 === 4)
                    throw new Error(`all of ${items.join()}`);
                return items.map((item) => (arrivals[item]?.fails ? new Error(`only ${item}`) : `done ${item}`));
            },
        });
        const answers = await Promise.all(arrivals.map(async ({ queue, pause: ms, fails }, item) => {
            for (let i = 0; i < item % 3; i++)
                await pause(ms);
            const answer = await queues
                .add({ queue: `queue ${queue}`, group: `group ${queue % 2}`, app: `app ${queue % 3}` }, item)
                .catch(String);
            const run = ended.find(({ items }) => items.includes(item));
            expect(run, 'answered before its run had ended').toBeDefined();
            const whole = (run?.items.length ?? 0) % 5 === 4;
            expect(answer).toBe(whole ? `Error: all of ${run?.items.join()}` : fails ? `Error: only ${item}` : `done ${item}`);
            return item;
        }));
        const did = ended.flatMap(({ items }) => items);
        expect([...did].sort((a, b) => a - b)).toEqual(answers);
    }), { numRuns: 60 });
});
const place = { queue: 'one', group: 'one', app: 'one' };
it('gathers what comes while a run is under way, and waits for nobody', async () => {
    const runs = [];
    const queues = new BatchQueues({
        slots: 2,
        patience: 1_000,
        run: async (items) => {
            runs.push(items.length);
            await pause(10);
            return items;
        },
    });
    const all = await Promise.all(Array.from({ length: 20 }, (_, i) => queues.add(place, i)));
    expect(all).toEqual(Array.from({ length: 20 }, (_, i) => i));
    expect(runs).toEqual([1, 8, 8, 3]);
});
it('turns away whom nothing moves for, and who finds the line full: 503 with Retry-After, and never begun', async () => {
    const begun = [];
    let release = () => undefined;
    const held = new Promise((resolve) => {
        release = resolve;
    });
    const queues = new BatchQueues({
        slots: 2,
        patience: 50,
        run: async (items) => {
            begun.push(...items);
            await held;
            return items;
        },
    });
    const refused = { code: 'service_unavailable', details: { retryAfter: 1 } };
    const first = queues.add(place, 0);
    const others = Array.from({ length: LENGTH + 1 }, (_, i) => queues.add(place, i + 1));
    const began = performance.now();
    await expect(others[LENGTH]).rejects.toMatchObject(refused);
    expect(performance.now() - began).toBeLessThan(40);
    const other = queues.add({ queue: 'other', group: 'other', app: 'other' }, 1_000);
    for (const one of others)
        await expect(one).rejects.toMatchObject(refused);
    release();
    expect([await first, await other]).toEqual([0, 1_000]);
    await pause(10);
    expect(begun).toEqual([0, 1_000]);
});
it('waits longer in a queue that moves, but not for ever', async () => {
    const queues = new BatchQueues({
        slots: 1,
        patience: 60,
        run: async (items) => {
            await pause(40);
            return items;
        },
    });
    const all = await Promise.allSettled(Array.from({ length: 80 }, (_, i) => queues.add(place, i)));
    const done = all.filter(({ status }) => status === 'fulfilled').length;
    // An item waits at most 180 ms (three times 60 ms). Each run takes 40 ms and answers 8 items.
    expect(done).toBeGreaterThan(8 + 1);
    expect(done).toBeLessThan(60);
});
//# sourceMappingURL=batch-queues.test.js.map