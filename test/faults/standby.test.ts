import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../src/auth/issue.ts';
import { digestOf, newSecret } from '../../src/auth/tokens.ts';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import { insertPerson } from '../../src/store/administration/people.ts';
import { isUnavailable } from '../../src/store/driver/errors.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import { endedSessions } from '../../src/store/events/realtime-sessions.ts';
import { openStore } from '../../src/store/open/open.ts';
import { readMemberships } from '../../src/store/sign-in/memberships.ts';
import { personOf } from '../../src/store/sign-in/sessions.ts';
import { readViewer } from '../../src/store/sign-in/viewers.ts';
import { type Cluster, closeClusters, openCluster } from '../support/cluster.ts';
import { type Issued, issue } from '../support/credentials.ts';
import { connected, doorOf, ORIGIN } from '../support/events/realtime.ts';
import { type Created, definition } from '../support/events/subscriptions.ts';
import { until } from '../support/events/webhooks.ts';
import { restOf, sample } from '../support/ledger/commands.ts';
import { DEMO_NOW } from '../support/postgres.ts';
import { type Replica, startReplica } from '../support/replica.ts';

/**
 * The address of the store leads to a standby, or to no server at all, as a proxy does during a failover. A real gateway
 * process, a real primary and a real streaming standby stand on the two sides of a proxy that the test switches.
 */
interface Proxy {
  readonly port: number;
  /** The port that new connections reach. 0: the proxy accepts a connection and closes it at once. */
  to: number;
  accepted: number[];
  /** Ends the connections that are open, as the end of a server does. */
  cut(): void;
  close(): Promise<void>;
}

async function openSwitch(first: number): Promise<Proxy> {
  const open = new Set<Socket>();
  const listener = createServer((client) => {
    proxy.accepted.push(performance.now());
    client.on('error', () => undefined); // both ends close together below
    if (proxy.to === 0) return void client.destroy();
    const server = connect(proxy.to, '127.0.0.1');
    server.on('error', () => undefined);
    client.pipe(server).pipe(client);
    client.once('close', () => server.destroy());
    server.once('close', () => client.destroy());
    open.add(client);
    client.once('close', () => open.delete(client));
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  const proxy: Proxy = {
    port: typeof address === 'object' && address ? address.port : 0,
    to: first,
    accepted: [],
    cut: () => {
      for (const client of open) client.destroy();
    },
    close: async () => {
      for (const client of open) client.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  return proxy;
}

let primary: Cluster;
let standby: Cluster;
let proxy: Proxy;
let gateway: Replica;
let sql: postgres.Sql;
let caller: Issued;

beforeAll(async () => {
  primary = await openCluster();
  await primary.sql('postgres').unsafe('CREATE DATABASE gateway');
  sql = primary.sql('gateway');
  const store = await openStore({
    databaseUrl: primary.url('gateway'),
    dataDir: '/nowhere',
    connections: 2,
    log: () => undefined,
  });
  await importRecords(store.slow, demoRecords(new Date(DEMO_NOW)), {});
  await store.close();
  caller = await issue(sql, 1, { authors: ['opr_1_1_1'], origins: [ORIGIN] });
  standby = await primary.replica();
  proxy = await openSwitch(primary.port);
  gateway = await startReplica({ databaseUrl: `postgres://postgres@127.0.0.1:${proxy.port}/gateway` });
});
afterAll(async () => {
  await gateway?.kill9();
  await proxy?.close();
  await closeClusters();
});

interface Told {
  readonly status: number;
  readonly ms: number;
  readonly text: string;
}

async function ask(path: string, token: string, body?: object, headers: Record<string, string> = {}): Promise<Told> {
  const began = performance.now();
  const response = await fetch(`${gateway.url}/api/v1${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(15_000),
  });
  const text = await response.text();
  return { status: response.status, ms: performance.now() - began, text };
}

const read = (token = caller.token): Promise<Told> => ask('/contacts/ctc_1_1_1', token);
/** Searches and reports have a pool of their own. */
const search = (): Promise<Told> => ask('/search?query=order', caller.token);
let written = 0;
const write = (): Promise<Told> => {
  const { path, body } = restOf(sample('visitor_note_add', ++written));
  return ask(path.replace('/api/v1', ''), caller.token, body, { 'idempotency-key': `standby-${written}` });
};

/** Waits until every kind of call works, at most 5 s after `since`. */
async function works(since: number, subscription: Created): Promise<void> {
  const calls = {
    read: () => read(),
    search,
    write,
    pull: () =>
      ask(`/events?subscription_id=${subscription.id}&after=${encodeURIComponent(subscription.cursor)}`, caller.token),
  };
  for (const [name, call] of Object.entries(calls)) {
    let told = await call();
    while (told.status !== 200 && performance.now() - since < 5_000) {
      await pause(50);
      told = await call();
    }
    expect([name, told.status, told.status === 200 ? '' : told.text]).toEqual([name, 200, '']);
  }
  const client = await connected(doorOf(gateway), caller.token);
  await client.attach(subscription.id);
  client.socket.terminate();
  expect(performance.now() - since).toBeLessThan(5_000);
}

/** Calls until `milliseconds` have passed, and returns all answers with their moments. */
async function calling(milliseconds: number, token: string, callers = 4): Promise<(Told & { readonly at: number })[]> {
  const end = performance.now() + milliseconds;
  const answers: (Told & { at: number })[] = [];
  const one = async (n: number): Promise<void> => {
    while (performance.now() < end) {
      const told = await (n % 4 === 3 ? write() : n % 4 === 2 ? search() : read(token));
      answers.push({ ...told, at: performance.now() });
      await pause(20);
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, n) => one(n)));
  return answers;
}

async function subscribe(): Promise<Created> {
  const told = await ask('/subscriptions', caller.token, definition(['web_1_1']), {
    'idempotency-key': `s${Date.now()}`,
  });
  expect(told.status, told.text).toBe(201);
  const { subscription, cursor } = JSON.parse(told.text);
  return { id: subscription.subscription_id, cursor };
}

it('while the address leads to a standby every call gets 503, also with a token that is revoked; then everything works', async () => {
  const subscription = await subscribe();
  await works(performance.now(), subscription);
  const revoked = await issue(sql, 1);
  expect((await read(revoked.token)).status).toBe(200);
  await until(async () => {
    const [row] = await standby.sql('gateway')`SELECT count(*)::int AS n FROM gateway.token
      JOIN gateway.credential c ON c.id = credential_id WHERE c.id = ${revoked.credential}`;
    return row?.['n'] === 1;
  });
  await standby.sql('gateway')`SELECT pg_wal_replay_pause()`;
  proxy.to = standby.port;
  proxy.cut();
  await sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${revoked.credential}`;
  const since = performance.now();
  // A call costs an attempt to connect, and waits about a second for it: all pools have 20 attempts a second together.
  const answers = await calling(6_000, revoked.token, 8);
  const later = answers.filter(({ at }) => at - since > 2_000);
  const counted = (list: readonly Told[]) =>
    Object.fromEntries(
      [...new Set(list.map(({ status }) => status))].map((status) => [
        status,
        list.filter((one) => one.status === status).length,
      ]),
    );
  console.info(`at a standby: ${JSON.stringify(counted(answers))}, later than 2 s: ${JSON.stringify(counted(later))}`);
  expect(later.length).toBeGreaterThan(20);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
  expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(3_000);
  await standby.sql('gateway')`SELECT pg_wal_replay_resume()`;
  proxy.to = primary.port;
  const right = performance.now();
  await works(right, subscription);
  expect((await read(revoked.token)).status).toBe(401);
});

it('behind a pooler that leads to a standby, a session that has ended, a removed member and an ended realtime session are not proved', async () => {
  const [session, membership, token] = [
    digestOf(newSecret('session')),
    digestOf(newSecret('session')),
    await issue(sql, 1),
  ];
  // With a direct address, the gateway does not ask the pooler's connection whether the server is a standby.
  const pooled = (target: string): Database =>
    openDatabase({
      ...{
        target,
        direct: primary.url('gateway'),
        primary: true,
        connections: 2,
        statementTimeout: 5_000,
        name: 'pooled',
      },
    });
  const [first, second] = [pooled(primary.url('gateway')), pooled(standby.url('gateway'))];
  const [owner, member] = [newId('prs'), newId('prs')];
  for (const [id, digest] of [
    [owner, session],
    [member, membership],
  ] as const) {
    await insertPerson(first, { id, tenant: '1', email: `${id}@example.com`, role: 'owner', password: null });
    await sql`INSERT INTO gateway.session (digest, person_id, expires_at) VALUES (${digest}, ${id}, now() + interval '1 hour')`;
  }
  const held = [{ session: 'rts_none', epoch: 1, digest: digestOf(token.token), revision: 1 }];
  const proofs: Readonly<Record<string, (db: Database) => Promise<unknown>>> = {
    'a signed-in person': (db) => personOf(db, session),
    'a viewer': async (db) => (await readViewer(db, { digest: session, website: 'web_1_1', network: 'n' }))?.email,
    'a member': async (db) => (await readMemberships(db, [membership]))[0]?.person,
    'a realtime session': async (db) => (await endedSessions(db, held))[0]?.why,
  };
  const told = async (db: Database): Promise<Record<string, unknown>> => {
    const entries = Object.entries(proofs).map(async ([name, prove]) => {
      const answer = await prove(db).catch((error: unknown) => (isUnavailable(error) ? 'unavailable' : error));
      return [name, answer] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  };
  try {
    expect(await told(first)).toEqual({
      ...{ 'a signed-in person': expect.objectContaining({ id: owner }), 'a viewer': `${owner}@example.com` },
      ...{ 'a member': member, 'a realtime session': 'closed' },
    });
    await until(async () => {
      const [row] = await standby.sql('gateway')`SELECT count(*)::int AS n FROM gateway.session`;
      return row?.['n'] === 2;
    });
    await standby.sql('gateway')`SELECT pg_wal_replay_pause()`;
    await sql`DELETE FROM gateway.session`;
    await sql`UPDATE gateway.person SET disabled_at = now() WHERE id = ${member}`;
    await sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${token.credential}`;
    const none = Object.fromEntries(Object.keys(proofs).map((name) => [name, 'unavailable']));
    expect(await told(second)).toEqual(none);
    expect(await told(first)).toEqual({ 'a realtime session': 'authority' });
  } finally {
    await standby.sql('gateway')`SELECT pg_wal_replay_resume()`;
    await Promise.all([first.close(), second.close()]);
  }
});

it('while no server is behind the proxy, 16 callers cost at most 20 connections a second, and each has its 503 within 3 s', async () => {
  const subscription = await subscribe();
  proxy.to = 0;
  proxy.cut();
  proxy.accepted = [];
  const answers = await calling(5_000, caller.token, 16);
  // Of three seconds, because a busy machine accepts late, and then connections of two seconds come in one.
  const busiest = Math.max(
    ...proxy.accepted.map((at) => proxy.accepted.filter((one) => one >= at && one < at + 3_000).length),
  );
  const slowest = Math.max(...answers.map(({ ms }) => ms));
  console.info(
    `without a server: ${busiest} connections in the busiest three seconds, ${answers.length} calls, the slowest ${Math.round(slowest)} ms`,
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
  expect(slowest).toBeLessThan(3_000);
  expect(proxy.accepted.length).toBeGreaterThan(5);
  expect(busiest).toBeLessThanOrEqual(60);
  proxy.to = primary.port;
  const right = performance.now();
  while ((await read()).status !== 200) await pause(20);
  expect(performance.now() - right).toBeLessThan(2_000);
  await works(right, subscription);
});

it('the leader is killed, the address leads to a standby that lags, then to the new leader: 503, and 5 s later everything works', async () => {
  proxy.to = primary.port;
  const subscription = await subscribe();
  const other = await primary.replica();
  proxy.to = other.port;
  await primary.kill();
  await standby.sql('postgres')`SELECT pg_promote()`;
  const answers = await calling(2_000, caller.token, 8);
  // A call that ran at the kill can lose its answer, which is also a 503.
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
  proxy.to = standby.port;
  await works(performance.now(), subscription);
});
