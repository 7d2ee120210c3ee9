import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { issue } from '../support/credentials.js';
import { addressOf, freshDatabase } from '../support/database.js';
import { doctor } from '../support/doctor.js';
import { plant } from '../support/events/journal.js';
import { Client, doorOf, newTicket, ORIGIN, openSession } from '../support/events/realtime.js';
import { definition } from '../support/events/subscriptions.js';
import { Taken } from '../support/events/taken.js';
import { addEndpoint, answer, openReceiver, until, verified } from '../support/events/webhooks.js';
import { eventually } from '../support/eventually.js';
import { times } from '../support/form.js';
import { pool } from '../support/replica.js';
/**
 * Check F-09: twelve writers change three websites, and two replicas are killed meanwhile. Readers of every kind must
 * get each receipt once.
 */
const SECONDS = times(4, 60);
const WRITER = fileURLToPath(new URL('../support/faults/journal-writer.mjs', import.meta.url));
const WRITERS = 6;
const WEBSITES = ['web_1_1', 'web_1_2', 'web_1_3'];
async function headsOf(sql) {
    const rows = await sql `
    SELECT 'web_' || tenant || '_' || site AS website, position FROM gateway.journal_head WHERE tenant = 1`;
    return new Map(rows.map(({ website, position }) => [website, Number(position)]));
}
it('F-09 every reader is given every receipt in its order, whatever is killed', async ({ task }) => {
    const database = await freshDatabase();
    const { sql, host, port, name } = database;
    await plant(sql);
    await sql `CREATE TABLE public.change (xid bigint NOT NULL, site bigint NOT NULL)`;
    await sql `INSERT INTO platform.visitor (tenant, site, id, external_id, created_at)
    SELECT 1, site, n, 'own' || site || n, now() FROM generate_series(1, 3) AS site, generate_series(9, ${3 * WRITERS}::integer) AS n`;
    await sql `TRUNCATE gateway.journal, gateway.journal_head`;
    const receiver = await openReceiver(answer(200));
    const { token, credential } = await issue(sql, 1, { perMinute: 1_000_000, burst: 100_000, origins: [ORIGIN] });
    const secrets = new Map();
    for (const site of ['1', '2', '3']) {
        const { secret } = await addEndpoint(database, credential, `${receiver.url}/${site}`, {
            site,
            eventTypes: ['visitor.*'],
        });
        secrets.set(site, secret);
    }
    const env = {
        GATEWAY_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
        GATEWAY_WEBHOOK_ALLOW: receiver.origin,
        GATEWAY_WEBHOOK_SCHEDULE: '0,1,1,1,1',
    };
    const spares = await pool(1, { databaseUrl: addressOf(database), env }, 6);
    let replicas = await Promise.all([spares.take(), spares.take()]);
    let [turn, going, kills] = [0, true, 0];
    const door = () => doorOf(replicas[turn++ % 2] ?? expect.fail('no replica'));
    const children = [];
    const start = (first) => {
        const args = [WRITER, host, String(port), name, String(first), String(WRITERS), 'inside', '100'];
        const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
        children.push(child);
        return child;
    };
    const reading = async (step) => {
        while (going)
            await step(door()).catch(() => pause(20));
    };
    const subscription = async () => {
        const { body } = await door().ask('/api/v1/subscriptions', {
            token,
            body: definition(WEBSITES, { event_types: ['visitor.*'] }),
        });
        return { id: body.subscription.subscription_id, cursor: body.cursor };
    };
    // A reader can be so late that the first kill meets its first call.
    const [rest, mcp, socket] = [new Taken(WEBSITES), new Taken(WEBSITES), new Taken(WEBSITES)];
    const byRest = async () => {
        const { id, cursor } = await eventually(subscription);
        let after = cursor;
        await reading(async ({ ask }) => {
            const query = `subscription_id=${id}&after=${encodeURIComponent(after)}&limit=100`;
            const { status, body } = await ask(`/api/v1/events?${query}`, { token });
            if (status !== 200)
                throw new Error(`${status}`);
            rest.page(body.events);
            after = body.next_cursor;
            if (!body.has_more)
                await pause(10);
        });
    };
    const byMcp = async () => {
        const { id, cursor } = await eventually(subscription);
        let after = cursor;
        await reading(async ({ ask }) => {
            const params = { name: 'events_pull', arguments: { subscription_id: id, after, limit: 100 } };
            const { body } = await ask('/mcp', {
                token,
                body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
                headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' },
            });
            const { data } = body.result.structuredContent;
            mcp.page(data.events);
            after = data.next_cursor;
            if (!data.has_more)
                await pause(10);
        });
    };
    const bySocket = async () => {
        const { id } = await eventually(subscription);
        const session = await eventually(() => openSession(door(), token));
        await reading(async (at) => {
            const ticket = await newTicket(at, token, session.session_id);
            const client = new Client(at.port, { ...session, ticket });
            try {
                await client.next('ready', 2_000);
                await client.attach(id);
                for (let first = true; going; first = false) {
                    const page = await client.next('page', 1_000);
                    socket.page(page.events, first);
                    client.ack(page);
                    await client.next('acked', 2_000);
                }
            }
            finally {
                client.end();
            }
        });
    };
    try {
        const readers = [byRest(), byMcp(), bySocket()];
        const writers = [start(1), start(1 + WRITERS)];
        while (kills < 4) {
            await pause((SECONDS * 1_000) / 5);
            const next = await spares.take();
            const lost = replicas[kills % 2];
            replicas = replicas.with(kills % 2, next);
            await lost?.kill9();
            kills++;
        }
        await pause((SECONDS * 1_000) / 5);
        for (const writer of writers) {
            const closed = once(writer, 'close');
            writer.kill('SIGTERM');
            await closed;
        }
        await until(async () => {
            const [row] = await sql `SELECT count(*)::integer AS n FROM pg_stat_activity
        WHERE datname = ${name} AND query LIKE '%public.change%' AND pid <> pg_backend_pid()`;
            return row?.['n'] === 0;
        });
        const heads = await headsOf(sql);
        const total = [...heads.values()].reduce((sum, n) => sum + n, 0);
        const delivered = () => new Set(receiver.got.map(({ id }) => id));
        const all = [rest, mcp, socket];
        await until(() => all.every((taken) => taken.reached(heads)), 30_000).catch(() => undefined);
        await until(() => delivered().size >= total, 60_000).catch(() => undefined);
        going = false;
        await Promise.all(readers);
        task.meta.shown = {
            doubles: all.reduce((n, { twice }) => n + twice, 0),
            missed: all.reduce((n, { ids }) => n + total - ids.size, total - delivered().size),
        };
        for (const taken of all) {
            expect([...taken.wrong]).toEqual([]);
            for (const website of WEBSITES)
                expect(taken.positions.get(website)).toEqual(Array.from({ length: heads.get(website) ?? 0 }, (_, i) => i + 1));
        }
        const ids = new Set(rest.ids.values());
        expect(ids.size).toBe(total);
        expect(new Set(mcp.ids.values())).toEqual(ids);
        expect(new Set(socket.ids.values())).toEqual(ids);
        expect(delivered()).toEqual(ids);
        for (const got of receiver.got)
            expect(verified(secrets.get(got.path.slice(-1)) ?? '', got)).toBe(true);
        const [row] = await sql `SELECT count(*)::integer AS n FROM public.change`;
        expect(total).toBe(row?.['n']);
        expect(total).toBeGreaterThan(200);
        expect(await doctor(database)).toEqual([]);
        console.info(`F-09: ${total} changes, ${total} receipts, ${kills} kills; REST, MCP, socket and webhooks have each of them; missed 0, ` +
            `out of order 0; repeated: socket ${socket.repeated}, webhooks ${receiver.got.length - total}`);
    }
    finally {
        going = false;
        for (const child of children)
            child.kill('SIGKILL');
        await spares.close();
        await Promise.all(replicas.map((replica) => replica.kill9()));
        await receiver.close();
        await database.close();
    }
}, 180_000 + SECONDS * 1_000);
//# sourceMappingURL=events.test.js.map