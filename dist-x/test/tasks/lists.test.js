import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorld, probe, until } from '../support/tasks.js';
/** A2-09: lists the unexpired tasks of a credential in pages. The task whose state changed last comes first. */
let world;
let sender;
let tasks;
beforeAll(async () => {
    world = await openWorld();
    sender = await world.issue();
    tasks = [];
    for (let i = 0; i < 12; i++) {
        const contact_id = i % 4 === 3 ? 'ctc_1_1_999999' : `ctc_1_1_${i + 1}`;
        const contextId = i % 2 ? 'odd' : 'even';
        tasks.push(await world.send(i % 2 ? world.a : world.b, sender.token, { contextId, input: { contact_id } }));
    }
});
afterAll(async () => {
    expect(world.errors).toEqual([]);
    await world.close();
});
const list = async (query = {}, token = sender.token) => world.run(world.a, token, (session) => world.a.tasks.list(session, { pageSize: 50, artifacts: false, ...query }));
const ids = (some) => some.map(({ id }) => id);
const sorted = (some) => ids([...some].sort((x, y) => y.stateAt.getTime() - x.stateAt.getTime() || (y.id < x.id ? -1 : 1)));
describe('A2-09', () => {
    it('the latest state first, without artifacts unless they are asked for', async () => {
        const page = await list();
        expect(page).toMatchObject({ nextPageToken: '', totalSize: 12 });
        expect(ids(page.tasks)).toEqual(sorted(tasks));
        for (const task of page.tasks)
            expect(task.artifact).toBeUndefined();
        const full = await list({ artifacts: true });
        const expected = new Map(tasks.map((task) => [task.id, task]));
        for (const task of full.tasks)
            expect(task).toEqual(expected.get(task.id));
        expect(full.tasks.filter(({ artifact }) => artifact !== undefined)).toHaveLength(9);
    });
    it.each([1, 5, 11, 12, 13])('pages of %i hold every task once', async (pageSize) => {
        const seen = [];
        let pageToken;
        do {
            const page = await list({ pageSize, pageToken });
            expect(page.totalSize).toBe(12);
            expect(page.tasks.length).toBe(Math.min(pageSize, 12 - seen.length));
            seen.push(...page.tasks);
            pageToken = page.nextPageToken;
        } while (pageToken !== '');
        expect(ids(seen)).toEqual(sorted(tasks));
    });
    it('by context, state and moment', async () => {
        const of = async (query) => {
            const page = await list(query);
            expect(page.totalSize).toBe(page.tasks.length);
            return ids(page.tasks);
        };
        expect(await of({ contextId: 'odd' })).toEqual(sorted(tasks.filter(({ contextId }) => contextId === 'odd')));
        expect(await of({ contextId: 'nobody’s' })).toEqual([]);
        expect(await of({ states: ['failed'] })).toEqual(sorted(tasks.filter(({ state }) => state === 'failed')));
        expect(await of({ states: ['failed', 'completed'] })).toEqual(sorted(tasks));
        expect(await of({ states: [] })).toEqual([]);
        const statusAfter = tasks[5]?.stateAt ?? new Date();
        const later = tasks.filter(({ stateAt }) => stateAt >= statusAfter);
        expect(await of({ statusAfter })).toEqual(sorted(later));
        expect(later.length).toBeGreaterThan(6);
        expect(await of({ statusAfter: new Date(Date.now() + 60_000) })).toEqual([]);
    });
    it('a page token is for its own list and its own credential, and cannot be made', async () => {
        const { nextPageToken } = await list({ pageSize: 3, contextId: 'odd' });
        expect((await list({ pageSize: 2, contextId: 'odd', pageToken: nextPageToken })).tasks).toHaveLength(2);
        const text = Buffer.from(nextPageToken, 'base64url').toString();
        const other = await world.issue();
        const bad = [
            ...['', 'x', 'AAAA', nextPageToken.slice(1), `${nextPageToken}AAAA`].map((pageToken) => [
                { contextId: 'odd', pageToken },
            ]),
            ...[
                text.replace(/^./, '2'),
                text.replace(/task_./, (start) => (start === 'task_0' ? 'task_1' : 'task_0')),
                text.replace(/.$/, '!'),
                `${text}\u0000`,
            ].map((forged) => [
                { contextId: 'odd', pageToken: Buffer.from(forged).toString('base64url') },
            ]),
            [{ contextId: 'even', pageToken: nextPageToken }],
            [{ pageToken: nextPageToken }],
            [{ contextId: 'odd', states: ['failed'], pageToken: nextPageToken }],
            [{ contextId: 'odd', pageToken: nextPageToken }, other.token],
        ];
        for (const [query, token] of bad) {
            await expect(list(query, token), JSON.stringify(query)).rejects.toMatchObject({ code: 'invalid_cursor' });
        }
    });
    it('with artifacts a page ends with a mebibyte of them, and every task is still there once', async () => {
        const own = await world.issue();
        const { skill, release } = probe(async () => ({ data: 'x'.repeat(130_000) }));
        release();
        const sent = [];
        for (let i = 0; i < 20; i++)
            sent.push(await world.send(world.a, own.token, { skill }));
        const sizes = [];
        const seen = [];
        let pageToken;
        do {
            const page = await list({ pageSize: 12, artifacts: true, pageToken }, own.token);
            expect(page.totalSize).toBe(20);
            for (const task of page.tasks)
                expect(task.artifact).toBeDefined();
            sizes.push(page.tasks.length);
            seen.push(...page.tasks);
            pageToken = page.nextPageToken;
        } while (pageToken !== '');
        expect(ids(seen)).toEqual(sorted(sent));
        // Each task has 130,011 bytes, so a page reaches its size limit at the ninth task.
        expect(sizes).toEqual([9, 9, 2]);
        expect((await list({ pageSize: 12 }, own.token)).tasks).toHaveLength(12);
    });
    it('what waits and what runs is listed; what has expired is not', async () => {
        const own = await world.issue();
        const slow = probe();
        await world.fill(slow, own, 6, [world.a]);
        await until(() => slow.held() === 5);
        const { tasks: open } = await list({}, own.token);
        expect(open.map(({ state }) => state).sort()).toEqual(['submitted', ...Array(5).fill('working')]);
        const [first] = open;
        await world.database.sql `UPDATE gateway.task SET expires_at = now() WHERE id = ${first?.id ?? ''}`;
        expect(await list({}, own.token)).toMatchObject({ totalSize: 5 });
        slow.release();
        await until(async () => (await list({ states: ['completed'] }, own.token)).totalSize === 5);
    });
});
//# sourceMappingURL=lists.test.js.map