import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { freshDatabase } from '../support/database.js';
import { plant } from '../support/events/journal.js';
const CHANNEL = 'gateway_journal';
let database;
beforeAll(async () => {
    database = await freshDatabase();
    await plant(database.sql);
});
afterAll(() => database.close());
const append = (site, types = ['visitor.changed']) => database.sql `SELECT gateway.append_receipts(1, ${site}, ${[...types]})`;
async function until(met, patience = 5_000) {
    for (const end = performance.now() + patience; !met() && performance.now() < end;)
        await pause(5);
    expect(met()).toBe(true);
}
describe('positions', () => {
    it('count on by the number of receipts, and the last one of each family is remembered', async () => {
        const { sql } = database;
        await append(1, ['visitor.changed', 'queue.gap', 'visitor.removed']);
        await append(1);
        const rows = await sql `SELECT position::integer, event_type FROM gateway.journal WHERE site = 1 ORDER BY position`;
        expect(rows.map((row) => [row['position'], row['event_type']])).toEqual([
            [1, 'visitor.changed'],
            [2, 'queue.gap'],
            [3, 'visitor.removed'],
            [4, 'visitor.changed'],
        ]);
        const [head] = await sql `SELECT position::integer, last_at FROM gateway.journal_head WHERE site = 1`;
        expect(head?.['position']).toBe(4);
        expect(Object.keys(head?.['last_at'] ?? {}).sort()).toEqual(['queue', 'visitor']);
    });
    it('F-15 a clock that was set back reorders nothing and silences nobody', async () => {
        const { sql } = database;
        const told = [];
        const listening = database.db.listen(CHANNEL, (payload) => told.push(payload));
        await until(() => told.includes(''));
        await append(2);
        await sql `UPDATE gateway.journal SET recorded_at = recorded_at + interval '1 hour', occurred_at = occurred_at + interval '1 hour' WHERE site = 2`;
        await sql `UPDATE gateway.journal_head SET notified_at = notified_at + interval '1 hour',
      last_at = jsonb_build_object('visitor', floor(extract(epoch FROM now()) * 1000) + 3600000) WHERE site = 2`;
        told.length = 0;
        await append(2);
        await append(2);
        const rows = await sql `SELECT position::integer, recorded_at > now() AS ahead FROM gateway.journal WHERE site = 2 ORDER BY position`;
        expect(rows.map((row) => [row['position'], row['ahead']])).toEqual([
            [1, true],
            [2, false],
            [3, false],
        ]);
        await until(() => told.includes('1 2'));
        await listening.close();
    });
});
describe('listening', () => {
    it('is told of a website, once in 25 ms, and of each website on its own', async () => {
        const told = [];
        const listening = database.db.listen(CHANNEL, (payload) => told.push(payload));
        await until(() => told.includes(''));
        await pause(30);
        told.length = 0;
        const began = performance.now();
        for (let i = 0; i < 100; i++)
            await append(3);
        await append(1);
        const windows = (performance.now() - began) / 25 + 1;
        await until(() => told.includes('1 1'));
        const third = told.filter((payload) => payload === '1 3').length;
        expect(third).toBeGreaterThanOrEqual(1);
        expect(third).toBeLessThanOrEqual(windows);
        await pause(30);
        const before = told.filter((payload) => payload === '1 3').length;
        await append(3);
        await until(() => told.filter((payload) => payload === '1 3').length === before + 1);
        await listening.close();
    });
    it('is not told of what was rolled back, and the next one is not withheld for it', async () => {
        const told = [];
        const listening = database.db.listen(CHANNEL, (payload) => told.push(payload));
        await until(() => told.includes(''));
        await pause(30);
        told.length = 0;
        await expect(database.sql.unsafe(`SELECT gateway.append_receipts(1, 3, '{visitor.changed}'); SELECT 1 / 0`)).rejects.toThrow('division');
        await append(3);
        await until(() => told.length > 0);
        expect(told).toEqual(['1 3']);
        await listening.close();
        await append(1);
        await pause(50);
        expect(told).toEqual(['1 3']);
    });
    it('begins again where its connection is ended, where the server refuses it for a while, and where it says nothing', async () => {
        const { host, port, name, sql } = database;
        const road = await openRoad(join(host, `.s.PGSQL.${port}`));
        const db = openDatabase({
            target: `postgres://postgres@127.0.0.1:${road.port}/${name}`,
            connections: 1,
            statementTimeout: 300,
            name: 'listener',
        });
        const told = [];
        const listening = db.listen(CHANNEL, (payload) => told.push(payload));
        await until(() => told.includes(''));
        const end = async () => {
            told.length = 0;
            const ended = await sql `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'listener'`;
            expect(ended.length).toBe(1);
        };
        const again = async () => {
            await until(() => told.includes(''));
            await append(1);
            await until(() => told.includes('1 1'));
            await pause(30);
        };
        for (let round = 0; round < 3; round++) {
            await end();
            await again();
        }
        for (const trouble of ['refuse', 'silence']) {
            road[trouble](true);
            await end();
            await pause(1_500);
            expect(told).toEqual([]);
            road[trouble](false);
            await again();
        }
        await listening.close();
        await db.close();
        road.close();
    });
});
/**
 * A proxy in front of the server's socket. A test can make the proxy refuse new connections, or accept them without an
 * answer.
 */
async function openRoad(socket) {
    let silent = false;
    const open = new Set();
    const server = createServer((client) => {
        open.add(client);
        client.on('error', () => client.destroy());
        if (silent)
            return;
        const there = connect(socket);
        there.on('error', () => there.destroy());
        client.pipe(there).pipe(client);
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    return {
        port,
        refuse: (on) => void (on ? server.close() : server.listen(port, '127.0.0.1')),
        silence: (on) => {
            silent = on;
        },
        close: () => {
            server.close();
            for (const client of open)
                client.destroy();
        },
    };
}
//# sourceMappingURL=journal.test.js.map