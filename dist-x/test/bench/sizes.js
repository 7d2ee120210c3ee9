import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.js';
import { demoRecords } from '../../src/sources/files/demo.js';
import { importRecords } from '../../src/sources/files/import.js';
import { closeClusters, openCluster } from '../support/cluster.js';
import { issue } from '../support/credentials.js';
import { mapAuthors, websitesForNotes } from './notes.js';
import { start } from './processes.js';
import { fill, MESSAGES } from './search.js';
import { openWorld } from './world.js';
const PORT = 8798;
const NOTES = 1_000;
const CONNECTIONS = 8;
/** Callers that send one read a second each: the dearest case of audit records, because records of a second share a row. */
const CALLERS = 50;
const READS_SECONDS = 4;
/** Measures what docs/scale.md calculates with: bytes of a message, of a note's log, and of an audit record. */
export async function sizes(store, print) {
    const world = await openWorld(store, 'gateway', 8);
    try {
        await fill(world.sql);
        await sizesOf(world.sql, print);
    }
    finally {
        await world.close();
    }
    try {
        for (const level of ['replica', 'logical'])
            await logOf(level, print);
    }
    finally {
        await closeClusters();
    }
}
async function sizesOf(sql, print) {
    const [text] = await sql `SELECT avg(octet_length(text))::float8 AS bytes FROM platform.message`;
    print(`${MESSAGES} messages in ${MESSAGES / 10} conversations, with texts of ${text?.bytes.toFixed(0)} bytes on average`);
    const tables = await sql `
    SELECT c.relname AS name, pg_table_size(c.oid) AS heap, pg_indexes_size(c.oid) AS indexes,
           (SELECT coalesce(sum(pg_relation_size(i.indexrelid)), 0) FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
              JOIN pg_am a ON a.oid = x.relam AND a.amname = 'gin' WHERE i.indrelid = c.oid) AS words
      FROM pg_class c WHERE c.relnamespace IN ('platform'::regnamespace, 'gateway'::regnamespace) AND c.relkind = 'r'
     ORDER BY pg_total_relation_size(c.oid) DESC LIMIT 6`;
    for (const { name, heap, words, indexes } of tables) {
        const each = (bytes) => (bytes / MESSAGES).toFixed(0);
        print(`${name.padEnd(20)} ${each(Number(heap))} bytes a message in rows, ${each(Number(words))} in indexes of words, ` +
            `${each(Number(indexes) - Number(words))} in other indexes`);
    }
    const [all] = await sql `SELECT pg_database_size(current_database()) AS bytes`;
    print(`the whole database: ${(Number(all?.bytes) / MESSAGES).toFixed(0)} bytes a message`);
}
/** Bytes of the write-ahead log for each keyed note and each audited read, at one `wal_level`. */
async function logOf(level, print) {
    const cluster = await openCluster({ wal_level: level, shared_buffers: '128MB', max_wal_size: '4GB' });
    const { db, sql, close } = await openWorld({ host: '127.0.0.1', port: cluster.port }, 'bench');
    await importRecords(db, demoRecords(new Date()), {});
    const visitors = (await websitesForNotes(sql)).flat();
    const { token, credential } = await issue(sql, 1);
    await mapAuthors(sql, credential);
    const readers = await Promise.all(Array.from({ length: CALLERS }, () => issue(sql, 1)));
    await sql `ANALYZE`;
    const script = fileURLToPath(new URL('dist/test/bench/booked.js', packageRoot));
    const server = await start(script, ['on', String(PORT), cluster.url('bench')], {});
    const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
    const notes = async () => {
        let left = NOTES;
        const client = async () => {
            while (left-- > 0)
                await ask(agent, `visitors/${visitors[left % visitors.length]}/notes`, token, '{"text":"A note of the bench."}');
        };
        await Promise.all(Array.from({ length: CONNECTIONS }, client));
        await pause(1_500); // the audit records of the last notes
    };
    try {
        await sql `CHECKPOINT`;
        const first = await grown(sql, notes);
        const next = await grown(sql, notes);
        print(`wal_level ${level}: ${first.log.toFixed(0)} bytes of the log a note right after a checkpoint, then ` +
            `${next.log.toFixed(0)}; the database grows by ${next.size.toFixed(0)} bytes a note`);
        const reads = await grown(sql, () => slowReads(agent, readers.map((one) => one.token)));
        const busy = await grown(sql, () => fastReads(agent, token));
        for (const [who, { log, size }] of [
            ['one read a second', reads],
            ['reads at full speed', busy],
        ])
            print(`wal_level ${level}: an audited read, a caller with ${who}: ${log.toFixed(0)} bytes of the log, ${size.toFixed(0)} on disk`);
    }
    finally {
        agent.destroy();
        await server.stop();
        await close();
    }
}
/** Bytes of the log and of the database for each of a thousand calls. */
async function grown(sql, work) {
    const look = async () => {
        const [row] = await sql `
      SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS log, pg_database_size(current_database()) AS size`;
        return { log: Number(row?.log), size: Number(row?.size) };
    };
    const before = await look();
    await work();
    const after = await look();
    return { log: (after.log - before.log) / NOTES, size: (after.size - before.size) / NOTES };
}
async function slowReads(agent, tokens) {
    for (let second = 0; second < READS_SECONDS; second++) {
        const next = pause(1_000);
        await Promise.all(tokens.map((token) => ask(agent, 'contacts/ctc_1_1_1', token)));
        await next;
    }
    await pause(1_500);
}
async function fastReads(agent, token) {
    let left = NOTES;
    const client = async () => {
        while (left-- > 0)
            await ask(agent, 'contacts/ctc_1_1_1', token);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
    await pause(1_500);
}
const ask = (agent, path, token, body) => new Promise((resolve, reject) => {
    const headers = {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
    };
    const method = body === undefined ? 'GET' : 'POST';
    const sent = request({ host: '127.0.0.1', port: PORT, path: `/api/v1/${path}`, method, agent, headers }, (response) => {
        if (response.statusCode !== 200)
            reject(new Error(`${path}: ${response.statusCode}`));
        response.resume().on('end', resolve);
    });
    sent.on('error', reject).end(body);
});
//# sourceMappingURL=sizes.js.map