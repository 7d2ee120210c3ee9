import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../src/core/sql.ts';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import { StoreUnreachable } from '../../src/store/driver/errors.ts';
import { openDatabase } from '../../src/store/driver/postgres.ts';
import { openStore, type Store } from '../../src/store/open/open.ts';
import { type Cluster, closeClusters, openCluster } from '../support/cluster.ts';
import { type Issued, issue } from '../support/credentials.ts';
import { eventually } from '../support/eventually.ts';
import { restOf, sample } from '../support/ledger/commands.ts';
import { freePort } from '../support/port.ts';
import { DEMO_NOW } from '../support/postgres.ts';
import { startReplica } from '../support/replica.ts';

/** DATABASE_URL names several hosts: a real primary, a real streaming standby, and hosts that refuse or say nothing. */
let primary: Cluster;
let standby: Cluster;
let silent: Server;
let refusing: number;
let caller: Issued;
const sockets = new Set<Socket>();

const portOf = (server: Server): number => {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
};
const addressOf = (ports: readonly number[], query = ''): string =>
  `postgres://postgres@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/gateway${query}`;
const open = (databaseUrl: string): Promise<Store> =>
  openStore({ databaseUrl, dataDir: '/nowhere', connections: 2, log: () => undefined });

beforeAll(async () => {
  primary = await openCluster();
  await primary.sql('postgres').unsafe('CREATE DATABASE gateway');
  const store = await open(primary.url('gateway'));
  await importRecords(store.slow, demoRecords(new Date(DEMO_NOW)), {});
  await store.close();
  caller = await issue(primary.sql('gateway'), 1, { authors: ['opr_1_1_1'] });
  standby = await primary.replica();
  silent = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined); // the driver gives the connection up
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  refusing = await freePort();
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  silent?.close();
  await closeClusters();
});

describe('at its start, the gateway uses the primary among the hosts of its address', () => {
  it.each([
    ['before a standby', () => [primary.port, standby.port]],
    ['after a standby', () => [standby.port, primary.port]],
    ['after a host that refuses', () => [refusing, primary.port]],
    ['after a host that says nothing', () => [portOf(silent), primary.port]],
    ['after all of them', () => [refusing, portOf(silent), standby.port, primary.port]],
  ])('%s', async (_, ports) => {
    const store = await open(addressOf(ports(), '?target_session_attrs=read-write'));
    try {
      const [row] = await store.db.query<{ port: number }>(sql`SELECT inet_server_port() AS port`);
      expect(row?.port).toBe(primary.port);
    } finally {
      await store.close();
    }
  });
});

it('names all hosts when none can be used, and none is a primary', async () => {
  await expect(open(addressOf([refusing, portOf(silent)]))).rejects.toThrow(
    `DATABASE_URL cannot be reached (127.0.0.1:${refusing}/gateway or 127.0.0.1:${portOf(silent)}/gateway).`,
  );
  await expect(open(addressOf([standby.port, standby.port]))).rejects.toThrow('DATABASE_URL leads to a replica');
});

it('takes an error of a standby for no more than that it is a standby, and goes on to the primary', async () => {
  const target = addressOf([standby.port, primary.port], '?target_session_attrs=primary');
  const db = openDatabase({ target, primary: true, connections: 1, statementTimeout: 2_000, name: 'hosts' });
  // A standby fails with XX000, which tells nothing of a standby.
  const commit = (): Promise<unknown> => db.query(sql`SELECT pg_logical_emit_message(true, 'test', '')`);
  try {
    await expect(commit()).rejects.toThrow(StoreUnreachable);
    await eventually(commit);
  } finally {
    await db.close();
  }
});

it('follows a failover without a proxy: no acknowledged write is lost or doubled, and 5 s later everything works', async () => {
  const gateway = await startReplica({ databaseUrl: addressOf([primary.port, standby.port]) });
  // The standby wants a standby, too, so a commit that waits for one is an error of its own there.
  for (const server of [primary, standby]) {
    await server.sql('postgres')`ALTER SYSTEM SET synchronous_standby_names = '*'`;
    await server.sql('postgres')`SELECT pg_reload_conf()`;
  }
  const ask = async (path: string, body?: object, key = ''): Promise<number> => {
    const response = await fetch(`${gateway.url}/api/v1${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${caller.token}`, 'content-type': 'application/json', 'idempotency-key': key },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(15_000),
    });
    await response.text();
    return response.status;
  };
  const acknowledged: string[] = [];
  let stopped = false;
  const writing = Array.from({ length: 3 }, async (_, n) => {
    for (let i = 0; !stopped; i++) {
      const { path, body } = restOf(sample('visitor_note_add', n * 10_000 + i));
      const text = `failover-${n}-${i}`;
      // A call without an answer is repeated with its key.
      while (!stopped && (await ask(path.replace('/api/v1', ''), { ...body, text }, text)) !== 200) await pause(50);
      if (!stopped) acknowledged.push(text);
    }
  });
  while (acknowledged.length < 30) await pause(20);
  await primary.kill();
  // For a while there is no primary, as until the promotion of every failover.
  for (const end = performance.now() + 2_000; performance.now() < end; )
    expect(await ask('/contacts/ctc_1_1_1')).toBe(503);
  await standby.sql('postgres')`SELECT pg_promote()`;
  await standby.sql('postgres')`ALTER SYSTEM RESET synchronous_standby_names`;
  await standby.sql('postgres')`SELECT pg_reload_conf()`;
  const promoted = performance.now();
  while ((await ask('/contacts/ctc_1_1_1')) !== 200) await pause(20);
  const reads = performance.now() - promoted;
  const before = acknowledged.length;
  while (acknowledged.length < before + 30) await pause(20);
  const writes = performance.now() - promoted;
  stopped = true;
  await Promise.all(writing);
  console.info(`after the promotion: reads ${reads.toFixed(0)} ms, 30 writes ${writes.toFixed(0)} ms`);
  const notes = await standby.sql('gateway')`SELECT text, count(*)::integer AS n FROM platform.note
    WHERE text LIKE 'failover-%' GROUP BY text`;
  const times = new Map(notes.map(({ text, n }) => [text, n]));
  expect(acknowledged.filter((text) => times.get(text) !== 1)).toEqual([]);
  expect([...times.values()].filter((n) => n !== 1)).toEqual([]);
  expect(Math.max(reads, writes)).toBeLessThan(5_000);
  expect(await gateway.end()).toEqual({ code: 0, signal: null });
});
