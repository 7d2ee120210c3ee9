import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import { openStore } from '../../src/store/open/open.ts';
import { type Cluster, closeClusters, openCluster } from '../support/cluster.ts';
import { type Issued, issue } from '../support/credentials.ts';
import { eventually } from '../support/eventually.ts';
import { restOf, sample } from '../support/ledger/commands.ts';
import { DEMO_NOW } from '../support/postgres.ts';
import { type Replica, startReplica } from '../support/replica.ts';

/** A primary with one synchronous standby that goes away. Elsewhere, that standby may now be the primary. */
let primary: Cluster;
let standby: Cluster;
let caller: Issued;

const setting = async (cluster: Cluster, names: string): Promise<void> => {
  await cluster.sql('postgres').unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
  await cluster.sql('postgres')`SELECT pg_reload_conf()`;
  // The server reloads a moment later, and then tells all its processes. A new connection shows that it has.
  for (let now: unknown; now !== names; ) {
    const [row] = await cluster.sql('postgres')`SELECT current_setting('synchronous_standby_names') AS names`;
    now = row?.['names'];
  }
};

beforeAll(async () => {
  primary = await openCluster();
  await primary.sql('postgres').unsafe('CREATE DATABASE gateway');
  const databaseUrl = primary.url('gateway');
  const store = await openStore({ databaseUrl, dataDir: '/nowhere', connections: 2, log: () => undefined });
  await importRecords(store.slow, demoRecords(new Date(DEMO_NOW)), {});
  await store.close();
  caller = await issue(primary.sql('gateway'), 1, { authors: ['opr_1_1_1'] });
  standby = await primary.replica();
  await setting(primary, '*');
});
afterAll(closeClusters);

interface Told {
  readonly status: number;
  readonly replayed: boolean;
}

const asker =
  ({ url }: Replica, { token } = caller) =>
  async (path: string, write?: { readonly body: object; readonly key: string }): Promise<Told> => {
    const response = await fetch(`${url}${path}`, {
      method: write ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(write && { 'idempotency-key': write.key }),
      },
      ...(write && { body: JSON.stringify(write.body) }),
      signal: AbortSignal.timeout(15_000),
    });
    await response.text();
    return { status: response.status, replayed: response.headers.get('idempotency-replayed') === 'true' };
  };
const CONTACT = '/api/v1/contacts/ctc_1_1_1';

it('answers nothing from a primary that no standby confirms any more, and all of it soon after one does', async () => {
  const gateway = await startReplica({ databaseUrl: primary.url('gateway') });
  const ask = asker(gateway);
  const { path, body } = restOf(sample('visitor_note_add', 1));
  expect((await ask(path, { body, key: 'confirmed' })).status).toBe(200);
  expect((await ask(CONTACT)).status).toBe(200);
  await standby.kill();
  const gone = performance.now();
  // The write reaches the disk of the primary only. Nobody may tell that it has had its effect.
  const writing = ask(path, { body, key: 'unconfirmed' });
  while ((await ask(CONTACT)).status === 200) await pause(20);
  const closed = performance.now() - gone;
  expect((await writing).status).toBe(503);
  for (let i = 0; i < 100; i++, await pause(50)) expect((await ask(CONTACT)).status).toBe(503);
  // A commit that nobody can confirm keeps its connection, so there may not be more and more of them.
  const [held] = await primary.sql('postgres')`SELECT count(*)::integer AS n FROM pg_stat_activity
    WHERE application_name = 'gateway-fence' AND wait_event = 'SyncRep'`;
  expect(held?.['n']).toBeLessThanOrEqual(1);
  expect((await ask(path, { body, key: 'unconfirmed' })).status).toBe(503);
  await standby.start();
  const back = performance.now();
  while ((await ask(CONTACT)).status !== 200) await pause(20);
  while ((await ask(path, { body, key: 'unconfirmed' })).status !== 200) await pause(20);
  const opened = performance.now() - back;
  console.info(`reads ended after ${closed.toFixed(0)} ms, and all worked ${opened.toFixed(0)} ms after the standby`);
  // Two seconds, and the time that a busy machine takes to notice.
  expect(closed).toBeLessThan(3_000);
  expect(opened).toBeLessThan(5_000);
  const [row] = await primary.sql(
    'gateway',
  )`SELECT count(*)::integer AS n FROM platform.note WHERE external_id LIKE 'op_%'`;
  expect(row?.['n']).toBe(2);
  expect(await gateway.end()).toEqual({ code: 0, signal: null });
});

it('answers a repeated key only after a standby has what the answer tells', async () => {
  await setting(primary, '');
  const gateway = await startReplica({ databaseUrl: primary.url('gateway') });
  const ask = asker(gateway);
  const { path, body } = restOf(sample('visitor_note_add', 2));
  await standby.kill();
  expect(await ask(path, { body, key: 'alone' })).toEqual({ status: 200, replayed: false });
  // As after a crash: the primary has an outcome that no standby has, and the fence of a new process is still open.
  await setting(primary, '*');
  expect((await ask(path, { body, key: 'alone' })).status).toBe(503);
  await eventually(async () => expect((await ask(CONTACT)).status).toBe(503));
  await standby.start();
  for (;;) {
    const told = await ask(path, { body, key: 'alone' });
    if (told.status === 200) {
      expect(told.replayed).toBe(true);
      break;
    }
    await pause(50);
  }
  expect(await gateway.end()).toEqual({ code: 0, signal: null });
});

it('closes when the primary wants a standby only since it is gone, and leaves one connection there', async () => {
  await setting(primary, '');
  const gateway = await startReplica({ databaseUrl: primary.url('gateway') });
  const ask = asker(gateway);
  expect((await ask(CONTACT)).status).toBe(200);
  await standby.kill();
  await setting(primary, '*');
  // While the fence is open, a call waits in the primary, and has its 503 after a time-out of 2.5 s.
  for (let took = Number.POSITIVE_INFINITY; took > 1_000; ) {
    const began = performance.now();
    const { status } = await ask(CONTACT);
    if (status === 503) took = performance.now() - began;
  }
  // PostgreSQL keeps each connection that waits for a standby, also when the client has gone. An attempt takes 2 s.
  await pause(9_000);
  const [row] = await primary.sql('postgres')`SELECT count(*)::integer AS n FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND application_name LIKE '%-fence'`;
  expect(row?.['n']).toBeLessThanOrEqual(2);
  await standby.start();
  while ((await ask(CONTACT)).status !== 200) await pause(50);
  expect(await gateway.end()).toEqual({ code: 0, signal: null });
});

it('goes on to the new primary with all its connections, and the old one, which lives on, answers nobody', async () => {
  await setting(primary, '*');
  const [here, there] = [primary.port, standby.port].map((port) => `127.0.0.1:${port}`);
  const gateway = await startReplica({ databaseUrl: `postgres://postgres@${here},${there}/gateway` });
  const revoked = await issue(primary.sql('gateway'), 1);
  const [ask, askRevoked] = [asker(gateway), asker(gateway, revoked)];
  // Reads and searches have pools of their own.
  const paths = [CONTACT, '/api/v1/search?query=order'];
  const all = Array.from({ length: 8 }, (_, i) => paths[i % 2] ?? '');
  for (const { status } of await Promise.all(all.map((path) => askRevoked(path)))) expect(status).toBe(200);
  await standby.sql('postgres')`SELECT pg_promote()`;
  const replaced = performance.now();
  await standby.sql('gateway')`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${revoked.credential}`;
  const late: number[] = [];
  const calling = async (path: string): Promise<void> => {
    while (performance.now() - replaced < 8_000) {
      const began = performance.now();
      const { status } = await askRevoked(path);
      if (began - replaced > 2_000) late.push(status);
      await pause(20);
    }
  };
  const watching = Promise.all(all.map(calling));
  while ((await ask(CONTACT)).status !== 200 || performance.now() - replaced < 2_000) await pause(20);
  const back = performance.now() - replaced;
  await watching;
  console.info(`at the new primary ${back.toFixed(0)} ms after the promotion`);
  expect(late.length).toBeGreaterThan(20);
  expect(late.filter((status) => status !== 401 && status !== 503)).toEqual([]);
  expect(late).toContain(401);
  expect(back).toBeLessThan(5_000);
  expect(await gateway.end()).toEqual({ code: 0, signal: null });
});
