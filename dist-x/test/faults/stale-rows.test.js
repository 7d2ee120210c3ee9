import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from '../../src/core/sql.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { freshDatabase } from '../support/database.js';
import { openProxy } from '../support/pgwire.js';
let database;
let proxy;
let db;
beforeAll(async () => {
    database = await freshDatabase();
    proxy = await openProxy(database);
    db = openDatabase({ target: proxy.url(database.name), connections: 1, statementTimeout: 2_000, name: 'stale' });
});
afterAll(async () => {
    await db.close();
    await proxy.close();
    await database.close();
});
it('a statement queued behind one that lost its connection after a row has its own rows, all and only', async () => {
    await db.read(sql `SELECT 0 AS zero`);
    const plan = proxy.arm({ match: /AS victim/, at: { side: 'backend', at: 5, when: 'after' }, action: 'cut' });
    const [victim, bystander] = await Promise.allSettled([
        db.query(sql `SELECT ${1}::int AS victim`),
        db.query(sql `SELECT ${2}::int AS bystander`),
    ]);
    expect(plan.hits()).toBe(1);
    expect(victim.status).toBe('rejected');
    expect(bystander).toEqual({ status: 'fulfilled', value: [{ bystander: 2 }] });
});
//# sourceMappingURL=stale-rows.test.js.map