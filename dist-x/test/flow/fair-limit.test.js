import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { FairLimit, QueueFull } from '../../src/flow/fair-limit.js';
it('the groups take turns, however much one of them has, a few at a time', async () => {
    const limit = new FairLimit({ atOnce: 2 });
    const done = [];
    let [now, most] = [0, 0];
    const run = (group) => limit.run(group, async () => {
        most = Math.max(most, ++now);
        await pause(2);
        now--;
        done.push(group);
    });
    const all = Array.from({ length: 100 }, () => run('greedy'));
    await pause(5);
    const before = done.length;
    all.push(...['one', 'two', 'one'].map(run));
    await Promise.all(all);
    expect(most).toBe(2);
    expect(done).toHaveLength(103);
    // Two jobs can run at the same time. A few jobs of the greedy group may therefore end before the first job of another
    // group.
    expect(done.indexOf('one') - before).toBeLessThanOrEqual(5);
    expect(done.indexOf('two') - before).toBeLessThanOrEqual(6);
    expect(done.lastIndexOf('one') - before).toBeLessThanOrEqual(10);
});
it('passes over what nobody wants any more, and survives what fails', async () => {
    const limit = new FairLimit({ atOnce: 1 });
    let wanted = true;
    let ran = 0;
    const isWanted = () => wanted;
    const first = limit.run('a', () => pause(20).then(() => Promise.reject(new Error('failed'))), { isWanted });
    const dropped = Array.from({ length: 50 }, () => limit.run('a', async () => void ran++, { isWanted }));
    const last = limit.run('a', async () => 'done');
    wanted = false;
    const results = await Promise.allSettled([first, ...dropped]);
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(await last).toBe('done');
    expect(ran).toBe(0);
});
it('a full queue gives the last place of the busiest group to a group with less, and refuses a group with as much', async () => {
    const limit = new FairLimit({ atOnce: 1, waiting: 4 });
    const done = [];
    const run = (group, name) => limit
        .run(group, async () => {
        await pause(1);
        done.push(name);
    })
        .catch((error) => (error instanceof QueueFull ? `${name} refused` : error));
    // One runs and four wait. The fifth that would wait is refused, because its own group is the busiest.
    const all = ['g0', 'g1', 'g2', 'g3', 'g4', 'g5'].map((name) => run('greedy', name));
    // Each takes the last place of the busiest group, until that group has one job more than the group of the new job.
    all.push(run('one', 'o1'), run('two', 't1'), run('one', 'o2'), run('three', 'h1'));
    const refused = (await Promise.all(all)).filter((one) => one !== undefined);
    expect(refused).toEqual(['g2 refused', 'g3 refused', 'g4 refused', 'g5 refused', 'o2 refused']);
    expect(done).toEqual(['g0', 'g1', 'o1', 't1', 'h1']);
});
//# sourceMappingURL=fair-limit.test.js.map