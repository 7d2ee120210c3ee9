import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import { openStore } from '../../src/store/open/open.ts';
import { type Cluster, closeClusters, openCluster } from '../support/cluster.ts';
import { type Issued, issue } from '../support/credentials.ts';
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
}, 120_000);
afterAll(closeClusters);

interface Told {
  readonly status: number;
  readonly replayed: boolean;
}

const asker =
  ({ url }: Replica) =>
  async (path: string, write?: { readonly body: object; readonly key: string }): Promise<Told> => {
    const response = await fetch(`${url}${path}`, {
      method: write ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${caller.token}`,
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
  for (let i = 0; i < 20; i++, await pause(50)) expect((await ask(CONTACT)).status).toBe(503);
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
}, 90_000);

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
}, 90_000);
