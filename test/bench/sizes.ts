import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type postgres from 'postgres';
import { packageRoot } from '../../src/config/package.ts';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import type { EmbeddedStore } from '../../src/store/embedded/embedded.ts';
import { closeClusters, openCluster } from '../support/cluster.ts';
import { issue } from '../support/credentials.ts';
import { mapAuthors, websitesForNotes } from './notes.ts';
import { start } from './processes.ts';
import { fill, MESSAGES } from './search.ts';
import { openWorld } from './world.ts';

const PORT = 8798;
const NOTES = 1_000;
const CONNECTIONS = 8;
/** Callers that send one read a second each: the dearest case of audit records, because records of a second share a row. */
const CALLERS = 50;
const READS_SECONDS = 20;

/** Measures what docs/scale.md calculates with: bytes of a message, of a note's log, and of an audit record. */
export async function sizes(store: EmbeddedStore, print: (line: string) => void): Promise<void> {
  const world = await openWorld(store, 'gateway', 8);
  try {
    const { log } = await grown(world.sql, () => fill(world.sql), MESSAGES);
    print(`the log of this load: ${log.toFixed(0)} bytes a message`);
    await sizesOf(world.sql, print);
  } finally {
    await world.close();
  }
  try {
    for (const level of ['replica', 'logical']) await logOf(level, print);
  } finally {
    await closeClusters();
  }
}

async function sizesOf(sql: postgres.Sql, print: (line: string) => void): Promise<void> {
  const [text] = await sql<{ bytes: number }[]>`SELECT avg(octet_length(text))::float8 AS bytes FROM platform.message`;
  print(
    `${MESSAGES} messages in ${MESSAGES / 10} conversations, with texts of ${text?.bytes.toFixed(0)} bytes on average`,
  );
  const tables = await sql<{ name: string; heap: string; words: string; indexes: string }[]>`
    SELECT c.relname AS name, pg_table_size(c.oid) AS heap, pg_indexes_size(c.oid) AS indexes,
           (SELECT coalesce(sum(pg_relation_size(i.indexrelid)), 0) FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
              JOIN pg_am a ON a.oid = x.relam AND a.amname = 'gin' WHERE i.indrelid = c.oid) AS words
      FROM pg_class c WHERE c.relnamespace IN ('platform'::regnamespace, 'gateway'::regnamespace) AND c.relkind = 'r'
     ORDER BY pg_total_relation_size(c.oid) DESC LIMIT 6`;
  for (const { name, heap, words, indexes } of tables) {
    const each = (bytes: number): string => (bytes / MESSAGES).toFixed(0);
    print(
      `${name.padEnd(20)} ${each(Number(heap))} bytes a message in rows, ${each(Number(words))} in indexes of words, ` +
        `${each(Number(indexes) - Number(words))} in other indexes`,
    );
  }
  const [all] = await sql<{ bytes: string }[]>`SELECT pg_database_size(current_database()) AS bytes`;
  print(`the whole database: ${(Number(all?.bytes) / MESSAGES).toFixed(0)} bytes a message`);
}

/** Bytes of the write-ahead log for each keyed note and each audited read, at one `wal_level`. */
async function logOf(level: string, print: (line: string) => void): Promise<void> {
  const cluster = await openCluster({ wal_level: level, shared_buffers: '128MB', max_wal_size: '4GB' });
  const { db, sql, close } = await openWorld({ host: '127.0.0.1', port: cluster.port }, 'bench');
  await importRecords(db, demoRecords(new Date()), {});
  const visitors = (await websitesForNotes(sql)).flat();
  const { token, credential } = await issue(sql, 1);
  await mapAuthors(sql, credential);
  const readers = await Promise.all(Array.from({ length: CALLERS }, () => issue(sql, 1)));
  await sql`ANALYZE`;
  const script = fileURLToPath(new URL('dist/test/bench/booked.js', packageRoot));
  const server = await start(script, ['on', String(PORT), cluster.url('bench')], {});
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
  const notes = async (): Promise<void> => {
    let left = NOTES;
    const client = async (): Promise<void> => {
      while (left-- > 0)
        await ask(
          agent,
          `visitors/${visitors[left % visitors.length]}/notes`,
          token,
          '{"text":"A note of the bench."}',
        );
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
    await pause(1_500); // the audit records of the last notes
  };
  try {
    await sql`CHECKPOINT`;
    const first = await grown(sql, notes);
    const next = await grown(sql, notes);
    print(
      `wal_level ${level}: ${first.log.toFixed(0)} bytes of the log a note right after a checkpoint, then ` +
        `${next.log.toFixed(0)}; the database grows by ${next.size.toFixed(0)} bytes a note`,
    );
    const reads = await grown(sql, () =>
      slowReads(
        agent,
        readers.map((one) => one.token),
      ),
    );
    const busy = await grown(sql, () => fastReads(agent, token));
    for (const [who, { log, size }] of [
      ['one read a second', reads],
      ['reads at full speed', busy],
    ] as const)
      print(
        `wal_level ${level}: an audited read, a caller with ${who}: ${log.toFixed(0)} bytes of the log, ${size.toFixed(0)} on disk`,
      );
  } finally {
    agent.destroy();
    await server.stop();
    await close();
  }
}

/** Bytes of the log and of the database for each of `count` calls or rows. */
async function grown(
  sql: postgres.Sql,
  work: () => Promise<void>,
  count = NOTES,
): Promise<{ log: number; size: number }> {
  const look = async (): Promise<{ log: number; size: number }> => {
    const [row] = await sql<{ log: string; size: string }[]>`
      SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS log, pg_database_size(current_database()) AS size`;
    return { log: Number(row?.log), size: Number(row?.size) };
  };
  const before = await look();
  await work();
  const after = await look();
  return { log: (after.log - before.log) / count, size: (after.size - before.size) / count };
}

async function slowReads(agent: Agent, tokens: readonly string[]): Promise<void> {
  for (let second = 0; second < READS_SECONDS; second++) {
    const next = pause(1_000);
    await Promise.all(tokens.map((token) => ask(agent, 'contacts/ctc_1_1_1', token)));
    await next;
  }
  await pause(1_500);
}

async function fastReads(agent: Agent, token: string): Promise<void> {
  let left = NOTES;
  const client = async (): Promise<void> => {
    while (left-- > 0) await ask(agent, 'contacts/ctc_1_1_1', token);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  await pause(1_500);
}

const ask = (agent: Agent, path: string, token: string, body?: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
    };
    const method = body === undefined ? 'GET' : 'POST';
    const sent = request(
      { host: '127.0.0.1', port: PORT, path: `/api/v1/${path}`, method, agent, headers },
      (response) => {
        if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode}`));
        response.resume().on('end', resolve);
      },
    );
    sent.on('error', reject).end(body);
  });
