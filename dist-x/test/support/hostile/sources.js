import { afterEach, beforeEach, expect } from 'vitest';
import { askComparison } from '../../../src/store/administration/sources.js';
import { openDatabase } from '../../../src/store/driver/postgres.js';
import { difference } from '../chatwoot/difference.js';
import { expected } from '../chatwoot/oracle.js';
import { createChatwoot } from '../chatwoot/populate.js';
import { chatwootWorld } from '../chatwoot/source-world.js';
import { stored } from '../chatwoot/stored.js';
import { freshDatabase } from '../database.js';
import { addSource, runSources } from '../sources.js';
export function hostileBench() {
    let store;
    let db;
    let desk;
    let running;
    beforeEach(async () => {
        store = await freshDatabase();
        const { host, port, name: database } = store;
        const target = { host, port, database, username: 'postgres' };
        db = openDatabase({ target, connections: 4, statementTimeout: 120_000, name: 'test' });
    });
    afterEach(async () => {
        await running?.stop();
        running = undefined;
        await db.close();
        await store.close();
        await desk.close();
    });
    const texts = async (id) => {
        const rows = await store.sql `
      SELECT text FROM platform.message WHERE external_id = ${`cw:1:message:${id}`}`;
        return rows.map(({ text }) => text);
    };
    return {
        get store() {
            return store;
        },
        get db() {
            return db;
        },
        get desk() {
            return desk;
        },
        get sql() {
            return desk.sql;
        },
        get errors() {
            return running?.errors ?? [];
        },
        open: async (options = {}) => {
            desk = await chatwootWorld({ ...options, schema: false });
            await createChatwoot(desk.sql);
            return desk.sql;
        },
        followed: async (mode = 'live', checkEvery) => {
            await desk.grant(mode);
            const source = await addSource({ db }, { address: desk.address(), mode });
            running = runSources({ db }, checkEvery);
            await expect.poll(async () => (await source.state()).state, { timeout: 30_000 }).toBe('following');
            return source;
        },
        texts,
        rejects: async () => {
            const rows = await store.sql `
        SELECT origin || ' ' || pointer || ' ' || code AS reject FROM gateway.source_reject ORDER BY 1 LIMIT 50`;
            return rows.map(({ reject }) => reject);
        },
        shows: async (id, timeout = 20_000) => {
            await expect.poll(() => texts(id), { timeout, interval: 100 }).toEqual([`text ${id}`]);
        },
        equals: async ({ tenant }, timeout = 30_000) => {
            const kinds = async () => difference(await expected(desk.sql, { account: 1 }), await stored(store.sql, tenant)).kinds;
            await expect.poll(kinds, { timeout, interval: 500 }).toEqual({});
        },
        compared: async ({ id }) => {
            const asked = (await askComparison(db, id)) ?? null;
            const done = () => store.sql `SELECT FROM gateway.source WHERE id = ${id} AND compared_at > ${asked}`;
            await expect.poll(done, { timeout: 30_000 }).toHaveLength(1);
        },
    };
}
//# sourceMappingURL=sources.js.map