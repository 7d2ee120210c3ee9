import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openGateway } from '../../../src/gateway/open.js';
import { openStore } from '../../../src/store/open/open.js';
import { issue } from '../../support/credentials.js';
import { addressOf, freshDatabase } from '../../support/database.js';
import { KEYS } from '../../support/keys.js';
/** F-06 for locks: a lock on the rows of one website delays neither reads nor the writes of other websites. */
let database;
let store;
let corridor;
let writer;
beforeAll(async () => {
    database = await freshDatabase('demo');
    store = await openStore({
        databaseUrl: addressOf(database),
        dataDir: '',
        connections: 8,
        log: () => undefined,
    });
    corridor = await openGateway({
        keys: KEYS,
        store,
        checkEvery: 1,
        onDefect: (_, error) => expect.fail(String(error)),
    });
    writer = await issue(database.sql, 1, { authors: ['opr_1_1_1', 'opr_1_2_1'] });
});
afterAll(async () => {
    await store.close();
    await database.close();
});
async function call(name, input, key) {
    const tool = corridor.registry.get(name) ?? expect.fail(name);
    const began = performance.now();
    const outcome = await corridor.call({ tool, resource: 'rest', bearer: writer.token, input, idempotencyKey: key });
    return { code: 'failure' in outcome ? outcome.failure.code : 'done', ms: performance.now() - began };
}
let keys = 0;
const note = (visitor) => call('visitor_note_add', { visitor_id: visitor, text: 'A note' }, `key-${++keys}`);
const visitorOf = async (site) => {
    const [row] = await database.sql `SELECT visitor_id AS id FROM platform.conversation
    WHERE tenant = 1 AND site = ${site} AND visitor_id IS NOT NULL ORDER BY id LIMIT 1`;
    return `vis_1_${site}_${row?.['id']}`;
};
it('reads and the writes of others go on while the journal of a website is locked', async () => {
    const { sql } = database;
    const [locked, free] = [await visitorOf(1), await visitorOf(2)];
    // Run every statement once, so that the driver has prepared all statements.
    for (const visitor of [locked, free])
        expect((await note(visitor)).code).toBe('done');
    await call('visitor', { visitor_id: locked });
    const dispose = (n) => call('conversation_disposition_set', { conversation_id: `cnv_1_1_${n}`, disposition: 'resolved' }, `key-${++keys}`);
    let stuck;
    await sql.begin(async (transaction) => {
        await transaction `SELECT FROM gateway.journal_head WHERE tenant = 1 AND site = 1 FOR UPDATE`;
        stuck = Promise.all([...Array.from({ length: 40 }, () => note(locked)), ...[2, 3, 4, 5].map(dispose)]);
        await pause(100);
        for (let round = 0; round < 5; round++) {
            const reads = await Promise.all(Array.from({ length: 30 }, () => call('visitor', { visitor_id: locked })));
            const writes = await Promise.all(Array.from({ length: 5 }, () => note(free)));
            expect([...reads, ...writes].filter(({ code }) => code !== 'done')).toEqual([]);
            // This bound is far below the statement timeout. A request that waits for the lock would need the full timeout.
            expect(Math.max(...[...reads, ...writes].map(({ ms }) => ms))).toBeLessThan(1_000);
        }
        await stuck;
    });
    const answers = (await stuck) ?? [];
    expect(new Set(answers.map(({ code }) => code))).toEqual(new Set(['service_unavailable']));
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(3_000);
    const [kept] = await sql `SELECT count(*)::integer AS n FROM gateway.operation WHERE site = 1`;
    expect(kept?.['n']).toBe(1);
    expect((await note(locked)).code).toBe('done');
});
//# sourceMappingURL=starving.test.js.map