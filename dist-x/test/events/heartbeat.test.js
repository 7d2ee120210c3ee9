import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { keepJournals, startJournals } from '../../src/events/journals.js';
import { beatFamilies } from '../../src/store/events/journal.js';
import { issue } from '../support/credentials.js';
import { freshDatabase } from '../support/database.js';
import { heads, plant, receipts } from '../support/events/journal.js';
import { eventually } from '../support/eventually.js';
let database;
let installation;
beforeAll(async () => {
    database = await freshDatabase();
    await plant(database.sql);
    ({ installation } = await issue(database.sql, 1, { websites: [1, 2, 3, 77].map((site) => `web_1_${site}`) }));
});
beforeEach(async () => {
    await database.sql `TRUNCATE gateway.journal, gateway.journal_head`;
    await database.sql `DELETE FROM gateway.subscription`;
});
afterAll(() => database.close());
let made = 0;
const subscribe = (sites, types, owner = installation) => database.sql `INSERT INTO gateway.subscription (id, installation_id, tenant, sites, event_types, start)
    VALUES (${`sub_${String(++made).padStart(32, '0')}`}, ${owner}, 1, ${[...sites]}, ${[...types]}, 'beginning')`;
const lastAt = (site, family, ago) => database.sql `INSERT INTO gateway.journal_head (tenant, site, position, last_at)
    VALUES (1, ${site}, 0, jsonb_build_object(${family}::text, floor(extract(epoch FROM now() - ${ago}::interval) * 1000)))
    ON CONFLICT (tenant, site) DO UPDATE SET last_at = gateway.journal_head.last_at || excluded.last_at`;
it('goes to families that a subscription names, on its websites, that were silent for 5 minutes', async () => {
    await subscribe([1, 2], ['visitor.*', 'queue.gap', 'queue.changed']);
    await subscribe([2], ['visitor.removed']);
    await lastAt(1, 'visitor', '5 minutes 2 seconds');
    await lastAt(1, 'queue', '4 minutes 50 seconds');
    await lastAt(1, 'operator', '1 hour');
    await lastAt(2, 'queue', '1 minute');
    await lastAt(3, 'visitor', '1 hour');
    expect(await keepJournals(database.db)).toMatchObject({ trimmed: 0, beaten: 2 });
    expect(await receipts(database.sql)).toEqual(['1_1 visitor.heartbeat', '1_2 visitor.heartbeat']);
    expect(await keepJournals(database.db)).toMatchObject({ trimmed: 0, beaten: 0 });
    const [head] = await database.sql `SELECT extract(epoch FROM now()) * 1000 - (last_at ->> 'visitor')::numeric AS age FROM gateway.journal_head WHERE site = 1`;
    expect(Number(head?.['age'])).toBeLessThan(60_000);
});
it('is one receipt a family, in one go with the others of its website', async () => {
    await subscribe([3], ['capture.*', 'privacy.*', 'visitor.changed']);
    await keepJournals(database.db);
    expect(await receipts(database.sql)).toEqual([
        '1_3 capture.heartbeat',
        '1_3 privacy.heartbeat',
        '1_3 visitor.heartbeat',
    ]);
});
it('does not say of a held family that it is alive, nor of a website that is gone', async () => {
    const { sql } = database;
    await subscribe([1, 77], ['visitor.*', 'queue.*']);
    await sql `INSERT INTO gateway.family_hold (tenant, site, family) VALUES (1, 1, 'queue')`;
    const before = await heads(sql);
    await keepJournals(database.db);
    expect(await receipts(sql, before)).toEqual(['1_1 visitor.heartbeat']);
    await sql `DELETE FROM gateway.family_hold`;
    await keepJournals(database.db);
    expect((await receipts(sql, before)).slice(-1)).toEqual(['1_1 queue.heartbeat']);
});
it('is not for subscriptions that no live credential can read', async () => {
    const { installation: left, credential } = await issue(database.sql, 1);
    await database.sql `UPDATE gateway.credential SET revoked_at = now() WHERE id = ${credential}`;
    await subscribe([1], ['visitor.*'], left);
    expect(await keepJournals(database.db)).toMatchObject({ beaten: 0 });
});
it('F-15 a last receipt from the future does not silence it', async () => {
    await subscribe([1], ['visitor.*']);
    await lastAt(1, 'visitor', '-1 hour');
    await keepJournals(database.db);
    expect(await receipts(database.sql)).toEqual(['1_1 visitor.heartbeat']);
});
it('is appended once, however many replicas ask, and in batches of websites', async () => {
    const { sql, db } = database;
    await subscribe([1, 2, 3], ['visitor.*']);
    await lastAt(1, 'visitor', '1 hour');
    // A round of heartbeats skips a website that a writer has locked. A later round adds the missing heartbeat.
    await sql.begin(async (transaction) => {
        await transaction `SELECT FROM gateway.journal_head WHERE site = 1 FOR UPDATE`;
        const told = await Promise.all(Array.from({ length: 3 }, () => beatFamilies(db, 2)));
        expect(told.every((n) => n < 2)).toBe(true);
    });
    await keepJournals(db);
    expect(await receipts(sql)).toEqual([1, 2, 3].map((site) => `1_${site} visitor.heartbeat`));
});
it('comes by rounds every 10 s, which a failure does not end and a stop does', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
        const errors = [];
        let broken = true;
        const db = {
            ...database.db,
            query: ((statement) => broken ? Promise.reject(new Error('planted')) : database.db.query(statement)), // the cast keeps the generic type of `query`
        };
        const rounds = startJournals(db, (error) => errors.push(error));
        await subscribe([1], ['visitor.*']);
        vi.advanceTimersByTime(10_000);
        await eventually(() => expect(errors).toHaveLength(1));
        broken = false;
        vi.advanceTimersByTime(9_999);
        expect(await receipts(database.sql)).toEqual([]);
        vi.advanceTimersByTime(1);
        await eventually(async () => expect(await receipts(database.sql)).toEqual(['1_1 visitor.heartbeat']));
        await rounds.stop();
        await database.sql `UPDATE gateway.journal_head SET last_at = '{}'`;
        vi.advanceTimersByTime(60_000);
        await rounds.stop();
        expect(await receipts(database.sql)).toHaveLength(1);
        expect(errors).toHaveLength(1);
    }
    finally {
        vi.useRealTimers();
    }
});
//# sourceMappingURL=heartbeat.test.js.map