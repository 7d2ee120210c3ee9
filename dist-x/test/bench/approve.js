import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.js';
import { demoRecords } from '../../src/sources/files/demo.js';
import { importRecords } from '../../src/sources/files/import.js';
import { issue } from '../support/credentials.js';
import { mapAuthors, websitesForNotes } from './notes.js';
import { start } from './processes.js';
import { backendsOf, timeOf } from './processor.js';
import { median, quantile } from './report.js';
import { openWorld } from './world.js';
const PORT = 8799;
const ROUNDS = 40;
/** A credential can have 100 waiting writes. They lapse between two rounds. */
const WRITES = 96;
const CONNECTIONS = 8;
const TEXT = 'called back, prefers mornings';
const NOTE = { kind: 'note', path: (visitor) => `visitors/${visitor}/notes`, body: { text: TEXT }, write: [] };
/** The conversation of a visitor has the visitor's number. */
const REPLY = {
    kind: 'reply',
    path: (visitor) => `conversations/${visitor.replace('vis_', 'cnv_')}/replies`,
    body: { text: TEXT, visibility: 'public' },
    write: ['conversation_reply'],
};
/**
 * Compares writes of five credentials in one interleaved run: notes without a policy, with one that names another
 * operation, and with one that lets each note wait for a person; and replies at once and those that wait.
 */
export async function approve(store, print) {
    const { db, sql, close } = await openWorld(store, 'gateway');
    await importRecords(db, demoRecords(new Date()), {});
    const visitors = (await websitesForNotes(sql)).flat();
    const policies = [
        { ...NOTE, name: 'without a policy', approve: [], status: 200 },
        { ...NOTE, name: 'another operation waits', approve: ['conversation_disposition_set'], status: 200 },
        { ...NOTE, name: 'each waits', approve: ['visitor_note_add'], status: 202 },
        { ...REPLY, name: 'at once', approve: [], withoutApproval: REPLY.write, status: 200 },
        { ...REPLY, name: 'each waits', approve: [], status: 202 },
    ];
    const callers = await Promise.all(policies.map(async (policy) => {
        const { token, credential } = await issue(sql, 1, policy);
        await mapAuthors(sql, credential);
        await sql `UPDATE gateway.credential SET approve = ${policy.approve} WHERE id = ${credential}`;
        return { ...policy, token, micros: [], millis: [] }; // filled below
    }));
    await sql `ANALYZE`;
    const url = `postgres://postgres@${encodeURIComponent(store.host)}:${store.port}/gateway`;
    const script = fileURLToPath(new URL('dist/test/bench/booked.js', packageRoot));
    const server = await start(script, ['on', String(PORT), url], {});
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    const write = (visitor, { path: pathOf, body, token, status }) => new Promise((resolve, reject) => {
        const headers = {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            'idempotency-key': randomUUID(),
        };
        const path = `/api/v1/${pathOf(visitor)}`;
        const sent = request({ host: '127.0.0.1', port: PORT, path, method: 'POST', agent, headers }, (response) => {
            if (response.statusCode !== status)
                reject(new Error(`${path}: ${response.statusCode} in place of ${status}`));
            response.resume().on('end', resolve);
        });
        sent.on('error', reject).end(JSON.stringify(body));
    });
    try {
        let backends = [];
        for (let n = 0; n < ROUNDS + 2; n++) {
            if (n === 2)
                backends = await backendsOf(sql);
            for (let turn = 0; turn < callers.length; turn++) {
                const caller = callers[(n + turn) % callers.length];
                if (!caller)
                    continue;
                const pids = [server.process.pid ?? 0, ...backends];
                const before = timeOf(pids);
                let left = WRITES;
                await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
                    while (left-- > 0) {
                        const began = performance.now();
                        await write(visitors[(left + n) % visitors.length] ?? '', caller);
                        if (n >= 2)
                            caller.millis.push(performance.now() - began);
                    }
                }));
                if (n >= 2)
                    caller.micros.push((timeOf(pids) - before) / WRITES);
                await sql `SELECT gateway.lapse_approvals(1000, true)`;
            }
        }
        for (const { kind, name, micros, millis } of callers) {
            const plain = callers.find((one) => one.kind === kind);
            const ratios = micros.map((one, i) => one / (plain?.micros[i] ?? one));
            print(`${kind}, ${name}: ${median(micros).toFixed(0)} µs of processor time, ${median(ratios).toFixed(2)} times ` +
                `(${quantile(ratios, 0.25).toFixed(2)} to ${quantile(ratios, 0.75).toFixed(2)}); median ` +
                `${median(millis).toFixed(1)} ms, p99 ${quantile(millis, 0.99).toFixed(1)} ms with ${CONNECTIONS} connections`);
        }
    }
    finally {
        agent.destroy();
        await server.stop();
        await close();
    }
}
//# sourceMappingURL=approve.js.map