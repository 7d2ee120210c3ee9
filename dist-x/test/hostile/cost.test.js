import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openGateway } from '../../src/gateway/open.js';
import { StoreUnreachable } from '../../src/store/driver/errors.js';
import { World, webId } from '../support/authority/world.js';
import { issue } from '../support/credentials.js';
import { freshDatabase } from '../support/database.js';
import { KEYS } from '../support/keys.js';
let database;
beforeAll(async () => {
    database = await freshDatabase('empty');
    await new World(database.sql).whole();
});
afterAll(() => database.close());
const KIB = 1_024;
const open = (db = database.db) => openGateway({ store: { db, slow: db }, keys: KEYS, checkEvery: 1, onDefect: (tool) => expect.fail(tool.name) });
async function call(corridor, { token }) {
    const tool = corridor.registry.get('channels') ?? expect.fail('no tool');
    const outcome = await corridor.call({ tool, resource: 'rest', bearer: token, input: { website_id: webId(1, 1) } });
    const authority = outcome.authority ?? expect.fail('no authority');
    return { outcome, authority, left: corridor.quotaOf(authority)?.remaining ?? expect.fail('no quota') };
}
const codeOf = ({ outcome }) => 'failure' in outcome ? `${outcome.failure.code} ${outcome.failure.details.retryAfter}` : 'done';
describe('RL-01 the bytes of a body', () => {
    it.each([
        [0, 0],
        [1, 0],
        [128 * KIB, 0],
        [128 * KIB + 1, 1],
        [256 * KIB, 1],
        [256 * KIB + 1, 2],
        [640 * KIB, 4],
    ])('%i bytes cost %i units beside the call', async (bytes, units) => {
        const corridor = await open();
        const app = await issue(database.sql, 1, { perMinute: 1, burst: 100 });
        const { authority, left } = await call(corridor, app);
        await corridor.payFor(authority, bytes);
        expect(corridor.quotaOf(authority)?.remaining).toBe(left - units);
        expect((await call(corridor, app)).left).toBe(left - units - 1);
    });
    it('what the bucket lacks is owed: the next calls wait for it, on whatever replica', async () => {
        const [one, other] = await Promise.all([open(), open()]);
        const app = await issue(database.sql, 1, { perMinute: 60, burst: 5 });
        const { authority } = await call(one, app);
        await one.payFor(authority, 21 * 128 * KIB);
        expect(one.quotaOf(authority)?.remaining).toBe(0);
        // The app owes sixteen units, and the app gets one unit each second. The next call needs one more unit, so the call
        // waits up to seventeen seconds.
        const waits = [await call(one, app), await call(other, app)].map(codeOf);
        for (const wait of waits) {
            const [, seconds] = /^quota_exceeded (\d+)$/.exec(wait) ?? expect.fail(wait);
            expect(Number(seconds)).toBeGreaterThan(12);
            expect(Number(seconds)).toBeLessThanOrEqual(17);
        }
    });
    it('an app that is always at zero pays as much as another', async () => {
        const corridor = await open();
        const app = await issue(database.sql, 1, { perMinute: 600, burst: 2 });
        const { authority } = await call(corridor, app);
        // The app gets ten units each second. A call costs one unit, and the body of the call costs two units. About three
        // calls therefore succeed each second.
        const began = performance.now();
        await corridor.payFor(authority, 3 * 128 * KIB);
        let done = 0;
        while (performance.now() - began < 2_000) {
            if (codeOf(await call(corridor, app)) !== 'done')
                continue;
            done++;
            await corridor.payFor(authority, 3 * 128 * KIB);
        }
        expect(done).toBeGreaterThan(2);
        expect(done).toBeLessThanOrEqual(8);
    });
    it('a store that is away for a moment is told later', async () => {
        let away = false;
        const db = {
            ...database.db,
            query: (statement) => (away ? Promise.reject(new StoreUnreachable('away')) : database.db.query(statement)),
        };
        const corridor = await open(db);
        const app = await issue(database.sql, 1, { perMinute: 1, burst: 20 });
        const { authority } = await call(corridor, app);
        away = true;
        await corridor.payFor(authority, 31 * 128 * KIB);
        away = false;
        expect(codeOf(await call(corridor, app))).toMatch(/^quota_exceeded \d{3}$/);
    });
    it('a store that takes no writes counts it here', async () => {
        let limited = false;
        const refused = Object.assign(new Error('read-only'), { code: '25006' });
        const db = {
            ...database.db,
            query: (statement) => (limited ? Promise.reject(refused) : database.db.query(statement)),
        };
        const corridor = await open(db);
        const app = await issue(database.sql, 1, { perMinute: 1, burst: 10 });
        limited = true;
        const { authority } = await call(corridor, app);
        await corridor.payFor(authority, 31 * 128 * KIB);
        expect(codeOf(await call(corridor, app))).toMatch(/^quota_exceeded /);
    });
});
//# sourceMappingURL=cost.test.js.map