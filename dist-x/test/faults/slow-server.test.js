import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from '../../src/core/sql.js';
import { StoreUnreachable, sqlState } from '../../src/store/driver/errors.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { freshDatabase } from '../support/database.js';
const STATEMENT_TIMEOUT = 1_000;
let database;
let db;
beforeAll(async () => {
    database = await freshDatabase();
    db = openDatabase({ target: { ...target() }, connections: 1, statementTimeout: STATEMENT_TIMEOUT, name: 'slow' });
});
afterAll(async () => {
    await db.close();
    await database.close();
});
const target = () => ({ host: database.host, port: database.port, database: database.name, username: 'postgres' });
const backend = async () => {
    const [row] = await db.query(sql `SELECT pg_backend_pid() AS pid`);
    return row?.pid ?? 0;
};
/** Repeats the condition, because every statement fails until the slow statements have ended. */
async function until(condition) {
    for (let i = 0; i < 20; i++) {
        if (await condition().catch(() => false))
            return;
    }
    throw new Error('it did not come about');
}
it('statements in a long line are refused in time, and the connection that works is kept', async () => {
    const before = await backend();
    const began = performance.now();
    const ended = await Promise.allSettled(Array.from({ length: 10 }, () => db.query(sql `SELECT pg_sleep(0.4)`)));
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(ended.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThanOrEqual(2);
    for (const one of ended) {
        if (one.status === 'rejected')
            expect(one.reason).toBeInstanceOf(StoreUnreachable);
    }
    await until(async () => (await backend()) === before);
});
it('statements that PostgreSQL ends by their time-out do not cost the others their connection', async () => {
    const before = await backend();
    const long = db.query(sql `SELECT pg_sleep(3)`);
    const next = pause(STATEMENT_TIMEOUT / 2).then(() => db.query(sql `SELECT 1 AS one`));
    const ended = await Promise.allSettled([long, next]);
    expect(ended[0]).toMatchObject({ status: 'rejected' });
    expect(sqlState(Object(ended[0]).reason)).toBe('57014');
    expect(ended[1]).toMatchObject({ status: 'fulfilled' });
    expect(await backend()).toBe(before);
});
//# sourceMappingURL=slow-server.test.js.map