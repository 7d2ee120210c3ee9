import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { runFor, sql } from '../../src/core/sql.js';
import { SharedReads } from '../../src/store/driver/shared-reads.js';
import { openTestGateway } from '../support/gateway.js';
/** Requests of one app that arrive together share a statement. Each still has exactly the rights of its own credential. */
let gateway;
let full;
let others;
beforeAll(async () => {
    gateway = await openTestGateway('demo');
    full = await gateway.issue();
    const { app } = full;
    others = {
        masked: await gateway.issue({ app, dataAccess: [] }),
        elsewhere: await gateway.issue({ app, websites: ['web_1_2'] }),
        revoked: await gateway.issue({ app }),
    };
});
afterAll(async () => {
    vi.restoreAllMocks();
    await gateway.close();
});
it('credentials of one app whose requests share a statement see what each may see, and a revoked one sees nothing', async () => {
    const list = await gateway.ask('/api/v1/conversations?website_id=web_1_1&limit=1', { token: full.token });
    const [{ id: conversation }] = list.body.data.conversations;
    const paths = [`/api/v1/conversations/${conversation}`, `/api/v1/conversations/${conversation}/messages`];
    const all = { full, ...others };
    const ask = async (path, { token }) => {
        const { status, body } = await gateway.ask(path, { token });
        return JSON.stringify([status, status === 200 ? body : body.code]);
    };
    const alone = new Map();
    for (const path of paths)
        for (const [name, issued] of Object.entries(all))
            alone.set(`${name} ${path}`, await ask(path, issued));
    // What `full` and `masked` see of two paths, and the 404 of `elsewhere`.
    expect(new Set(alone.values()).size).toBe(5);
    const joined = vi.spyOn(SharedReads.prototype, 'join');
    const shared = () => joined.mock.results.filter(({ value }) => value !== undefined).length;
    /** Asks everything at the same time, while all connections of the app are held. */
    const round = async () => {
        const { db } = gateway.database;
        const held = [1, 2].map(() => db.read(runFor(full.app, sql `SELECT pg_sleep(0.2)`)));
        const answers = Array.from({ length: 10 }, () => paths).flatMap((each) => each.flatMap((path) => Object.entries(all).map(async ([name, issued]) => [`${name} ${path}`, await ask(path, issued)])));
        await Promise.all(held);
        return Promise.all(answers);
    };
    // On a busy machine, the statements may just have been slow. Slow statements are not shared.
    for (let n = 0; n < 10 && shared() < 40; n++)
        for (const [name, answer] of await round())
            expect([name, answer]).toEqual([name, alone.get(name)]);
    console.info(`${shared()} of ${joined.mock.calls.length} reads that waited could share a statement`);
    expect(shared()).toBeGreaterThanOrEqual(40);
    // The revocation commits while reads wait in batches. Whatever is asked after it is refused.
    const running = round();
    await gateway.database.sql `UPDATE gateway.token SET revoked_at = now()
    WHERE credential_id = ${others.revoked.credential}`;
    const after = await Promise.all(paths.map((path) => ask(path, others.revoked)));
    expect(after).toEqual(paths.map(() => JSON.stringify([401, 'token_revoked'])));
    const ended = (await running).filter(([, answer]) => answer.startsWith('[401'));
    expect(new Set(ended.map(([name]) => name.split(' ')[0]))).toEqual(new Set(['revoked']));
    for (const [name, answer] of (await running).filter(([one]) => !one.startsWith('revoked')))
        expect([name, answer]).toEqual([name, alone.get(name)]);
});
//# sourceMappingURL=shared-reads.test.js.map