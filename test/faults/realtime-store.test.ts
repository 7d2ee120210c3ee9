import { setTimeout as pause } from 'node:timers/promises';
import pino from 'pino';
import type postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openRealtime, type Realtime } from '../../src/events/realtime/realtime.ts';
import type { Timings } from '../../src/events/realtime/wire.ts';
import { streaming } from '../../src/gateway/streaming.ts';
import { openLedgerKey } from '../../src/store/calls/ledger.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import { startServer } from '../../src/surfaces/http/server.ts';
import { realtimeSurface } from '../../src/surfaces/realtime/realtime.ts';
import { doctor } from '../support/doctor.ts';
import { Client, holder, openSession, plantWebsites } from '../support/events/realtime.ts';
import { append, create, definition } from '../support/events/subscriptions.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../support/gateway.ts';
import { KEYS } from '../support/keys.ts';
import { openProxy, type WireProxy } from '../support/pgwire.ts';

/**
 * Realtime sockets lose their connection to the store. Only the statements of the sockets go through the proxy that
 * cuts connections.
 */
let gateway: TestGateway;
let proxy: WireProxy;
let db: Database;
const ends: (() => Promise<unknown>)[] = [];
let errors: unknown[] = [];

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await plantWebsites(gateway.database.sql, 10);
  proxy = await openProxy(gateway.database);
  const target = { host: proxy.host, port: proxy.port, database: gateway.database.name, username: 'postgres' };
  db = openDatabase({ target, connections: 4, statementTimeout: 500, name: 'streams' });
});
afterAll(async () => {
  await Promise.all(ends.map((end) => end()));
  await db.close();
  await proxy.close();
  expect(await doctor(gateway.database)).toEqual([]);
  await gateway.close();
});
beforeEach(() => {
  errors = [];
});

const sql = (): postgres.Sql => gateway.database.sql;

async function opened(timings: Partial<Timings>): Promise<{ realtime: Realtime; port: number }> {
  const realtime = openRealtime({
    db,
    keys: KEYS,
    eventKey: openLedgerKey(gateway.database.db),
    ...streaming(gateway.corridor),
    onError: (error) => errors.push(error),
    timings,
  });
  const server = await startServer({
    host: '127.0.0.1',
    baseUrl: BASE_URL,
    port: 0,
    tls: undefined,
    log: pino({ level: 'silent' }),
    handlers: [],
    otherwise: (_, response) => void response.end(),
    upgrade: realtimeSurface(realtime),
  });
  ends.push(() => Promise.all([realtime.stop(), server.close()]));
  return { realtime, port: server.port };
}

async function joined(port: number, token: string): Promise<Client> {
  const client = new Client(port, await openSession(gateway, token));
  await client.next('ready');
  return client;
}

it('a store that is away beyond the time of a proof closes sockets 4503, and is told of once an outage', async () => {
  const { port } = await opened({ check: 100, look: 50, unproved: 2_000 });
  const { token } = await holder(gateway);
  const ids: string[] = [];
  for (let i = 1; i <= 5; i++) ids.push((await create(gateway, token, definition([`web_1_${i}`]))).id);
  for (let outage = 1; outage <= 2; outage++) {
    const client = await joined(port, token);
    for (const id of ids) await client.attach(id);
    await pause(500);
    expect(errors).toHaveLength(outage - 1);
    const heal = proxy.blackhole();
    const began = performance.now();
    expect(await client.closed).toBe(4503);
    expect(performance.now() - began).toBeGreaterThan(1_500);
    await pause(1_500);
    expect(errors).toHaveLength(outage);
    heal();
    await pause(1_000);
  }
});

it('a page that cannot be read ten times closes 4503, with the error before it', async () => {
  const { port } = await opened({ check: 50, retry: 50 });
  const { token } = await holder(gateway);
  const { id } = await create(gateway, token, definition(['web_1_6']));
  const client = await joined(port, token);
  await client.attach(id);
  await pause(300);
  const armed = proxy.arm({ match: /FROM gateway.journal e/, at: 'before-execute', action: 'cut', times: Infinity });
  await append(sql(), 'web_1_6', ['visitor.changed']);
  expect(await client.closed).toBe(4503);
  proxy.disarm();
  expect(armed.hits()).toBeGreaterThanOrEqual(10);
  expect(client.frames.slice(-2)).toMatchObject([
    { type: 'error', subscription_id: id, code: 'service_unavailable', fatal: true },
    { type: 'closing', code: 4503 },
  ]);
});

it('a change of a credential is looked up once for all of its sockets', async () => {
  const { realtime, port } = await opened({ check: 500 });
  const { token, credential } = await holder(gateway);
  const clients: Client[] = [];
  for (let i = 0; i < 20; i++) clients.push(await joined(port, token));
  const asked = (): number =>
    new Set(
      proxy.log().flatMap(({ exchange, text }) => (/c.data_access, c.channel_ids/.test(text ?? '') ? [exchange] : [])),
    ).size;
  await pause(600);
  const before = asked();
  await sql()`UPDATE gateway.credential SET scopes = '{website_read,event_read}' WHERE id = ${credential}`;
  await pause(1_300);
  expect(asked() - before).toBe(1);
  expect(realtime.size).toBe(20);
  for (const client of clients) client.end();
});
