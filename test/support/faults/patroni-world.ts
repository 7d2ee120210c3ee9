import { createHmac } from 'node:crypto';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { demoRecords } from '../../../src/sources/files/demo.ts';
import { importRecords } from '../../../src/sources/files/import.ts';
import { openStore } from '../../../src/store/open/open.ts';
import { type Issued, issue } from '../credentials.ts';
import { ORIGIN } from '../events/realtime.ts';
import { ALL_FAMILIES } from '../events/subscriptions.ts';
import { addEndpoint, answer, openReceiver, type Receiver, until, verified } from '../events/webhooks.ts';
import { eventually } from '../eventually.ts';
import { note, restOf } from '../ledger/commands.ts';
import { openPatroni, type PatroniCluster, type PatroniNode, type PatroniOptions } from '../patroni.ts';
import { DEMO_NOW } from '../postgres.ts';
import { type Replica, startReplica } from '../replica.ts';
import { CONTACT, FENCED, type Gateway, Load, WEBSITE } from './failover.ts';
import { Helpdesk } from './helpdesk.ts';
import { NOTE_CHANGES, receipts } from './source-audit.ts';

const DATABASE = 'gateway';
/** Milliseconds from the promotion until a gateway works again. */
const BACK = 5_000;
/** Milliseconds from the promotion until a gateway tells a later change of the helpdesk. A lease of a source lasts 10 s. */
const FOLLOWED = 15_000;
/** Processes that wait for a processor make every answer later, in proportion to the load: at most five times here. */
const busy = (): number => Math.min(5, Math.max(1, (loadavg()[0] ?? 0) / availableParallelism()));

export interface Fault {
  readonly what: string;
  /** False if the leader stays the leader. */
  readonly promotes?: false;
  /** Harms the leader. The returned function ends the harm. */
  readonly harm: (cluster: PatroniCluster, leader: PatroniNode) => Promise<() => void>;
}

interface WorldOptions {
  readonly cluster?: PatroniOptions;
  /** The environment of each gateway. */
  readonly env?: readonly [Readonly<Record<string, string>>, Readonly<Record<string, string>>];
}

/** A Patroni cluster, and two gateways before it: one through HAProxy, and one with all hosts in DATABASE_URL. */
interface World {
  readonly cluster: PatroniCluster;
  readonly replicas: readonly Replica[];
  readonly gateways: readonly Gateway[];
  readonly load: Load;
  readonly receiver: Receiver;
  readonly secret: string;
  /** How many receipts there were before the webhook. */
  readonly before: number;
  readonly helpdesk: Helpdesk;
  /** The path of the numbered messages of the helpdesk, and who may read them. */
  readonly talk: string;
  readonly listener: Issued;
  readonly verify: typeof verified;
  /** True if tasks can be gone: they live for an hour, by clocks that are an hour apart. */
  readonly forgets: boolean;
}

/** As `verified`, without the time. Receivers refuse a time that is five minutes off, as PostgreSQL's clock here is. */
const signed: typeof verified = (secret, { bytes, headers }) => {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const head = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`;
  const signature = createHmac('sha256', key).update(head).update(bytes).digest('base64');
  return String(headers['webhook-signature']).split(' ').includes(`v1,${signature}`);
};

async function openWorld(options: WorldOptions): Promise<World> {
  const cluster = await openPatroni(options.cluster);
  const leader = await cluster.whole();
  await leader.with('postgres', (sql) => sql.unsafe(`CREATE DATABASE ${DATABASE}`));
  const receiver = await openReceiver(answer(200));
  const databaseUrl = cluster.hosts(DATABASE);
  const store = await openStore({ databaseUrl, dataDir: '/nowhere', connections: 2, log: () => undefined });
  await importRecords(store.slow, demoRecords(new Date(DEMO_NOW)), {});
  const caller = await leader.with(DATABASE, (sql) => issue(sql, 1, { authors: ['opr_1_1_1'], origins: [ORIGIN] }));
  await leader.with(DATABASE, (sql) => sql.unsafe(NOTE_CHANGES).simple());
  const helpdesk = await Helpdesk.open(store.slow);
  const { secret } = await addEndpoint(store, caller.credential, receiver.url, {
    eventTypes: ALL_FAMILIES.map((family) => `${family}.*`),
  });
  await store.close();
  const { length: before } = await journalOf(leader);
  const listener = await leader.with(DATABASE, (sql) => issue(sql, helpdesk.talked));
  const secretKey = Buffer.alloc(32, 7).toString('base64');
  const env = {
    // The first key is that of the tests of webhooks, the second one that of the tests of sources.
    GATEWAY_KEYS: `test:${secretKey},1:${secretKey}`,
    GATEWAY_WEBHOOK_ALLOW: receiver.origin,
    GATEWAY_WEBHOOK_SCHEDULE: '0,1,1,1,1',
  };
  const replicas = await Promise.all(
    [cluster.proxied(DATABASE), cluster.hosts(DATABASE)].map((address, i) =>
      // As a supervisor, which starts a process again. On a busy machine, HAProxy can take the leader for lost.
      eventually(() => startReplica({ databaseUrl: address, env: { ...env, ...options.env?.[i] } }), 60_000),
    ),
  );
  const gateways = replicas.map(({ url }, i) => ({ name: i === 0 ? 'HAProxy' : 'hosts', url }));
  const load = new Load(gateways, caller.token);
  const talk = await eventually(async () => {
    const id = await leader.with(DATABASE, (sql) => helpdesk.conversation(sql));
    if (id === undefined) throw new Error('the sources are not loaded');
    return `/api/v1/conversations/${id}/messages`;
  }, 60_000);
  const forgets = options.cluster?.clocks !== undefined;
  const verify = forgets ? signed : verified;
  return { cluster, replicas, gateways, load, receiver, secret, before, helpdesk, talk, listener, verify, forgets };
}

async function journalOf(leader: PatroniNode): Promise<number[]> {
  const rows = await leader.with(
    DATABASE,
    (sql) => sql<{ position: number }[]>`
      SELECT position::integer FROM gateway.journal WHERE (tenant, site) = (1, 1) ORDER BY position`,
  );
  return rows.map(({ position }) => position);
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`;

/** One fault, from the harm until all three nodes are whole again. Prints a row of the table for each gateway. */
async function strike(
  { what, promotes, harm }: Fault,
  n: number,
  { cluster, gateways, load, helpdesk }: World,
): Promise<void> {
  const leader = await cluster.whole();
  const victim = await leader.with(DATABASE, (sql) => issue(sql, 1));
  const paths = [CONTACT, '/api/v1/search?query=order', '/api/v1/websites'];
  for (const gateway of gateways)
    for (const path of paths)
      await eventually(async () =>
        expect((await load.call(gateway, path, { token: victim.token })).status, path).toBe(200),
      );
  const struck = performance.now();
  // A switchover is answered only when it has ended.
  const promotion =
    promotes === false
      ? Promise.resolve({ next: leader, promoted: struck })
      : cluster.leader(leader).then((next) => ({ next, promoted: performance.now() }));
  const [over, { next, promoted }] = await Promise.all([harm(cluster, leader), promotion]);
  // Patroni says so before PostgreSQL takes writes. The commit waits for a synchronous standby of the new leader.
  const revoke = (): Promise<unknown> =>
    next.with(
      DATABASE,
      (sql) => sql`
        WITH renamed AS (UPDATE platform.contact SET name = ${`generation-${n}`} WHERE (tenant, site, id) = (1, 1, 1))
        UPDATE gateway.credential SET revoked_at = now() WHERE id = ${victim.credential}`,
    );
  await eventually(revoke, 60_000);
  const revoked = performance.now();
  load.generation(n);
  let stopped = false;
  const calling = async (gateway: Gateway): Promise<void> => {
    let refused = 0;
    for (let i = 0; !stopped || refused === 0; i++) {
      const [began, path] = [performance.now(), paths[i % paths.length] ?? ''];
      const { status } = await load.call(gateway, path, { token: victim.token });
      if (status === 401) refused++;
      else if (status !== 503 && began - revoked >= FENCED)
        load.wrong.add(`${gateway.name}: ${path} ${status}, ${seconds(began - revoked)} after the token was revoked`);
      await pause(50);
    }
  };
  const refused = Promise.all(gateways.map(calling));
  try {
    for (const gateway of gateways) {
      const reads = await load.back(gateway, 'read', promoted);
      const writes = await load.back(gateway, 'write', promoted);
      const row = [
        ...[what, gateway.name, promotes === false ? 'not promoted' : `promoted after ${seconds(promoted - struck)}`],
        `silence of reads ${seconds(load.silence(gateway, 'read', struck))}`,
        `of writes ${seconds(load.silence(gateway, 'write', struck))}`,
        `after the promotion: commits ${seconds(revoked - promoted)}`,
        `reads ${seconds(reads - promoted)}, writes ${seconds(writes - promoted)}, load ${(loadavg()[0] ?? 0).toFixed(1)}`,
      ].join(', ');
      process.stdout.write(`${n}: ${row}\n`);
      // A busy machine gives the new leader its standby late. Without one, no commit ends, and nobody may be answered.
      expect(Math.max(reads, writes) - Math.max(promoted, revoked), row).toBeLessThan(BACK * busy());
    }
    const followed = await helpdesk.back(promoted);
    const row = `silence of the source ${seconds(helpdesk.silence(struck))}, followed ${seconds(followed - promoted)} after the promotion`;
    process.stdout.write(`${n}: ${what}, ${row}\n`);
    expect(followed - Math.max(promoted, revoked), row).toBeLessThan(FOLLOWED * busy());
    await pause(Math.max(0, revoked + FENCED + 1_000 - performance.now()));
    over();
    await cluster.whole();
  } finally {
    stopped = true;
  }
  await refused;
}

/** The numbers of the messages that a gateway lists, oldest first. */
async function told(load: Load, gateway: Gateway, path: string, { token }: Issued): Promise<readonly number[]> {
  const numbers: number[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = `?order=asc&limit=100${cursor && `&cursor=${cursor}`}`;
    const { data } = JSON.parse((await load.call(gateway, path + query, { token })).text);
    numbers.push(...[...JSON.stringify(data.messages).matchAll(/said-(\d+)-/g)].map(([, n]) => Number(n)));
    cursor = data.next_cursor;
  }
  return numbers;
}

/**
 * Lets the faults happen to a world with all its clients, one after the other. Afterwards nothing is lost or doubled. The
 * next fault is asked for when the last one has ended.
 */
export async function survive(faults: Iterable<Fault>, options: WorldOptions = {}): Promise<void> {
  const world = await openWorld(options);
  const { replicas, gateways, load, receiver, helpdesk, talk, listener } = world;
  try {
    load.start();
    let turn = 0;
    helpdesk.start(async () => {
      const gateway = gateways[turn++ % gateways.length];
      const newest = gateway && (await load.call(gateway, `${talk}?limit=1`, { token: listener.token }));
      return newest?.status === 200 ? newest.text : undefined;
    });
    let struck = 0;
    for (const fault of faults) await strike(fault, ++struck, world);
    await helpdesk.stop();
    const leader = await world.cluster.whole();
    const head = await drained(world, leader);
    const summary = [
      `${struck} faults, ${load.attempts} calls`,
      await receiptsCame(world, leader, head),
      await notesStand(world, leader),
      await tasksEnded(world, leader),
      await sourceEquals(world, leader),
      `refusals ${[...load.refusals].map(([what, n]) => `${n} × ${what}`).join(', ')}`,
    ];
    process.stdout.write(`${summary.join('; ')}\n`);
    expect([...load.wrong]).toEqual([]);
    expect(load.acknowledged.size).toBeGreaterThan(30 * struck);
    for (const replica of replicas) expect(await replica.end()).toEqual({ code: 0, signal: null });
  } finally {
    for (const what of [...load.wrong].slice(0, 20)) process.stdout.write(`${what}\n`);
    load.abandon();
    await receiver.close();
    await helpdesk.close();
    await Promise.all(replicas.map((replica) => replica.kill9()));
    await world.cluster.close();
  }
}

const deliveredTo = ({ got }: Receiver): ReadonlySet<string> => new Set(got.map(({ id }) => id));

/**
 * Ends the calls, and waits until every reader and the webhook have all receipts. Returns the last position. Heartbeats
 * can come later.
 */
async function drained({ load, receiver, before }: World, leader: PatroniNode): Promise<number> {
  let head = -1;
  await load.end(() =>
    until(async () => {
      const last = head;
      head = (await journalOf(leader)).length;
      const all = [...load.readers.values()].every((taken) => taken.reached(new Map([[WEBSITE, head]])));
      return last === head && all && deliveredTo(receiver).size >= head - before;
    }, 60_000).catch(() => undefined),
  );
  return head;
}

/** Each position of the journal is there once. Those up to `head` came over the pulls, the socket and the webhook. */
async function receiptsCame(
  { load, receiver, secret, before, verify }: World,
  leader: PatroniNode,
  head: number,
): Promise<string> {
  const all = await journalOf(leader);
  expect(all).toEqual(Array.from({ length: all.length }, (_, i) => i + 1));
  const positions = all.slice(0, head);
  for (const [name, taken] of load.readers) {
    expect([name, ...taken.wrong]).toEqual([name]);
    expect(taken.positions.get(WEBSITE)?.slice(0, head), name).toEqual(positions);
  }
  const ids = load.readers.get('socket')?.ids ?? new Map<string, string>();
  const due = positions.slice(before).flatMap((position) => ids.get(`${WEBSITE} ${position}`) ?? []);
  const delivered = deliveredTo(receiver);
  expect(due.filter((id) => !delivered.has(id))).toEqual([]);
  expect(delivered.size - due.length).toBeLessThanOrEqual(all.length - positions.length);
  expect(receiver.got.filter((got) => !verify(secret, got))).toEqual([]);
  return `${positions.length} receipts, ${receiver.got.length} deliveries`;
}

/** Each acknowledged note is there once. Its key has the same answer at every gateway. */
async function notesStand({ load, gateways }: World, leader: PatroniNode): Promise<string> {
  const notes = await leader.with(
    DATABASE,
    (sql) => sql<{ text: string; n: number }[]>`
      SELECT text, count(*)::integer AS n FROM platform.note WHERE text LIKE 'failover-%' GROUP BY text`,
  );
  const kept = new Set(notes.map(({ text }) => text));
  const lost = [...load.acknowledged.keys()].filter((text) => !kept.has(text));
  const doubled = notes.filter(({ n }) => n > 1);
  expect([lost, doubled]).toEqual([[], []]);
  for (const [text, first] of [...load.acknowledged].filter((_, i) => i % 40 === 0)) {
    const { path, body } = restOf(note(text));
    for (const gateway of gateways) {
      const again = await load.call(gateway, path, { key: text, body });
      expect(again).toEqual({ status: 200, text: first, replayed: true });
    }
  }
  return `${load.acknowledged.size} notes acknowledged, lost ${lost.length}, doubled ${doubled.length}`;
}

async function tasksEnded({ load, forgets }: World, leader: PatroniNode): Promise<string> {
  const tasks = await leader.with(
    DATABASE,
    (sql) => sql<{ id: string; state: string }[]>`SELECT id, state FROM gateway.task`,
  );
  const kept = tasks.map(({ id }) => id).toSorted();
  const known = [...load.tasks.values()].toSorted();
  expect(kept).toEqual(forgets ? known.filter((id) => kept.includes(id)) : known);
  expect(tasks.filter(({ state }) => !/completed|failed/.test(state))).toEqual([]);
  return `${tasks.length} tasks`;
}

/** The store equals the helpdesk row for row, and every change has its receipt, in a journal without a gap. */
async function sourceEquals({ load, gateways, helpdesk, talk, listener }: World, leader: PatroniNode): Promise<string> {
  await eventually(async () => {
    expect(await leader.with(DATABASE, (sql) => helpdesk.differences(sql))).toEqual([]);
  }, 30_000);
  const said = helpdesk.said.map(({ n }) => n);
  for (const gateway of gateways) expect(await told(load, gateway, talk, listener)).toEqual(said);
  const journals = await leader.with(
    DATABASE,
    (sql) => sql<{ tenant: number; gaps: number }[]>`
      SELECT tenant::integer AS tenant, (max(position) - count(*))::integer AS gaps FROM gateway.journal GROUP BY tenant`,
  );
  const own = journals.filter(({ tenant }) => helpdesk.tenants.includes(tenant));
  expect(own.map(({ gaps }) => gaps)).toEqual([0, 0]);
  const { due, missing } = await leader.with(DATABASE, receipts);
  expect(missing).toEqual([]);
  expect(due).toBeGreaterThan(100);
  return `${helpdesk.changes} transactions and ${said.length} messages of the helpdesk, ${due} changes with a receipt`;
}
