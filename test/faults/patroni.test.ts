import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import { openStore } from '../../src/store/open/open.ts';
import { issue } from '../support/credentials.ts';
import { ORIGIN } from '../support/events/realtime.ts';
import { ALL_FAMILIES } from '../support/events/subscriptions.ts';
import { addEndpoint, answer, openReceiver, until, verified } from '../support/events/webhooks.ts';
import { eventually } from '../support/eventually.ts';
import { FENCED, type Gateway, Load, WEBSITE } from '../support/faults/failover.ts';
import { note, restOf } from '../support/ledger/commands.ts';
import { openPatroni, type PatroniCluster, type PatroniNode, withoutPatroni } from '../support/patroni.ts';
import { DEMO_NOW } from '../support/postgres.ts';
import { startReplica } from '../support/replica.ts';

/**
 * High availability on a real Patroni: its leader is killed, frozen and replaced while two gateways serve, one through
 * HAProxy and one with all hosts in DATABASE_URL. `PATRONI_KILLS=10 npx vitest run test/faults/patroni.test.ts` is the
 * long form. It prints the table of docs/high-availability.md.
 */
const KILLS = Number(process.env['PATRONI_KILLS'] ?? 3);
const LONG = KILLS > 3;
const DATABASE = 'gateway';
/** Milliseconds from the promotion until a gateway works again. */
const BACK = 5_000;

if (withoutPatroni !== undefined) process.stdout.write(`${withoutPatroni}\n`);

interface Fault {
  readonly what: string;
  /** Harms the leader. The returned function ends the harm. */
  readonly strike: (cluster: PatroniCluster, leader: PatroniNode) => Promise<() => void>;
}

const KILL: Fault = {
  what: 'leader killed (SIGKILL of Patroni and PostgreSQL)',
  strike: async (_, leader) => {
    await leader.kill();
    return () => leader.start();
  },
};
const SWITCH: Fault = {
  what: 'switchover',
  strike: async (cluster, leader) => {
    await cluster.switchover(leader);
    return () => undefined;
  },
};
const frozen = (what: 'all' | 'patroni'): Fault => ({
  what: what === 'all' ? 'leader frozen (SIGSTOP of Patroni and PostgreSQL)' : 'Patroni of the leader frozen',
  strike: async (_, leader) => {
    leader.freeze(what);
    return () => leader.thaw();
  },
});
const times = (n: number, fault: Fault): readonly Fault[] => Array.from({ length: n }, () => fault);
const FAULTS = [
  ...times(KILLS, KILL),
  ...times(LONG ? 3 : 1, SWITCH),
  ...times(LONG ? 2 : 1, frozen('all')),
  ...times(LONG ? 2 : 1, frozen('patroni')),
];

interface Row {
  readonly what: string;
  readonly gateway: string;
  readonly promoted: number;
  readonly reads: number;
  readonly writes: number;
  readonly readsBack: number;
  readonly writesBack: number;
}

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1);

it.skipIf(withoutPatroni !== undefined)(
  'while leaders are killed, frozen and replaced, no acknowledged write is lost or doubled, and a demoted leader answers nobody',
  async () => {
    const cluster = await openPatroni();
    const first = await cluster.whole();
    await first.with('postgres', (sql) => sql.unsafe(`CREATE DATABASE ${DATABASE}`));
    const receiver = await openReceiver(answer(200));
    const store = await openStore({
      ...{ databaseUrl: cluster.hosts(DATABASE), dataDir: '/nowhere', connections: 2, log: () => undefined },
    });
    await importRecords(store.slow, demoRecords(new Date(DEMO_NOW)), {});
    const caller = await first.with(DATABASE, (sql) =>
      issue(sql, 1, { authors: ['opr_1_1_1'], origins: [ORIGIN] }),
    );
    const endpoint = await addEndpoint(store, caller.credential, receiver.url, {
      eventTypes: ALL_FAMILIES.map((family) => `${family}.*`),
    });
    const [told] = await first.with(
      DATABASE,
      (sql) => sql<{ n: string }[]>`SELECT count(*) AS n FROM gateway.journal WHERE (tenant, site) = (1, 1)`,
    );
    /** The endpoint is told of all later receipts. */
    const before = Number(told?.n);
    await store.close();
    const env = {
      GATEWAY_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
      GATEWAY_WEBHOOK_ALLOW: receiver.origin,
      GATEWAY_WEBHOOK_SCHEDULE: '0,1,1,1,1',
      ...(process.env['PATRONI_LOG'] && { LOG_LEVEL: process.env['PATRONI_LOG'] }),
    };
    const replicas = await Promise.all(
      [cluster.proxied(DATABASE), cluster.hosts(DATABASE)].map((databaseUrl) => startReplica({ databaseUrl, env })),
    );
    const gateways: Gateway[] = replicas.map(({ url }, i) => ({ name: i === 0 ? 'HAProxy' : 'hosts', url }));
    const load = new Load(gateways, caller.token);
    const rows: Row[] = [];
    load.start();

    /** Calls with a revoked token until `stopped`. From FENCED after the revocation, nobody may be answered. */
    const refused = async (gateway: Gateway, token: string, at: number, stopped: () => boolean): Promise<void> => {
      let told = 0;
      const paths = ['/api/v1/contacts/ctc_1_1_1', '/api/v1/search?query=order', '/api/v1/websites'];
      for (let i = 0; !stopped() || told === 0; i++) {
        const began = performance.now();
        const { status } = await load.call(gateway, paths[i % paths.length] ?? '', { token });
        if (status === 401) told++;
        else if (began - at >= FENCED && status !== 503)
          load.wrong.add(
            `${gateway.name}: ${status} to ${paths[i % paths.length]}, ${(began - at).toFixed(0)} ms after the token was revoked`,
          );
        await pause(50);
      }
    };

    const strike = async ({ what, strike: harm }: Fault, n: number): Promise<void> => {
      const leader = await cluster.whole();
      const victim = await leader.with(DATABASE, (sql) => issue(sql, 1));
      for (const gateway of gateways)
        for (const path of ['/api/v1/contacts/ctc_1_1_1', '/api/v1/search?query=order'])
          expect((await load.call(gateway, path, { token: victim.token })).status).toBe(200);
      const struck = performance.now();
      // A switchover is answered only when it has ended.
      const [over, next] = await Promise.all([harm(cluster, leader), cluster.leader(leader)]);
      const promoted = performance.now();
      // Patroni says so before PostgreSQL takes writes.
      const revoke = (): Promise<unknown> =>
        next.with(
          DATABASE,
          (sql) => sql`
            WITH renamed AS (UPDATE platform.contact SET name = ${`generation-${n}`} WHERE (tenant, site, id) = (1, 1, 1))
            UPDATE gateway.credential SET revoked_at = now() WHERE id = ${victim.credential}`,
        );
      await eventually(revoke, 60_000);
      // The commit waits for a synchronous standby, so the new leader has one now.
      const revoked = performance.now();
      load.generation(n);
      let stopped = false;
      const refusing = gateways.map((gateway) => refused(gateway, victim.token, revoked, () => stopped));
      const back = await Promise.all(
        gateways.map(async (gateway) => ({
          gateway,
          reads: await load.back(gateway, 'read', promoted),
          writes: await load.back(gateway, 'write', promoted),
        })),
      );
      await pause(Math.max(0, revoked + FENCED + 1_000 - performance.now()));
      over();
      await cluster.whole();
      stopped = true;
      await Promise.all(refusing);
      for (const { gateway, reads, writes } of back) {
        const row = {
          what,
          gateway: gateway.name,
          promoted: promoted - struck,
          reads: load.silence(gateway, 'read', struck),
          writes: load.silence(gateway, 'write', struck),
          readsBack: reads - promoted,
          writesBack: writes - promoted,
        };
        rows.push(row);
        process.stdout.write(
          `${n} ${row.what}, ${row.gateway}: promoted after ${seconds(row.promoted)} s, commits ${seconds(revoked - struck)} s; silence reads ${seconds(row.reads)} s, writes ${seconds(row.writes)} s; after the promotion reads ${seconds(row.readsBack)} s, writes ${seconds(row.writesBack)} s\n`,
        );
        // A busy machine gives the new leader its standby late. The gateway can only wait for it.
        expect(Math.max(reads, writes) - Math.max(promoted, revoked), JSON.stringify(row)).toBeLessThan(BACK);
      }
    };

    for (const [i, fault] of FAULTS.entries()) await strike(fault, i + 1).catch(async (e) => {
      console.log([...load.wrong]);
      for (const g of gateways) console.log(g.name, await load.call(g, '/api/v1/contacts/ctc_1_1_1'), await load.call(g, '/readyz'));
      for (const r of replicas) console.log(r.log().split('\n').filter((l) => /^(FENCE|LEAVE)/.test(l)).slice(-150).join('\n'));
      throw e;
    });

    const last = await cluster.whole();
    const journal = async (): Promise<number[]> =>
      (
        await last.with(
          DATABASE,
          (sql) => sql<{ position: string }[]>`
            SELECT position FROM gateway.journal WHERE (tenant, site) = (1, 1) ORDER BY position`,
        )
      ).map(({ position }) => Number(position));
    const delivered = (): Set<string> => new Set(receiver.got.map(({ id }) => id));
    let head = -1;
    await load.end(async () => {
      await until(async () => {
        const last = head;
        head = (await journal()).at(-1) ?? 0;
        const all = [...load.readers.values()].every((taken) => taken.reached(new Map([[WEBSITE, head]])));
        return last === head && all && delivered().size >= head - before;
      }, 60_000).catch(() => undefined);
    });

    const positions = await journal();
    expect(positions).toEqual(Array.from({ length: positions.length }, (_, i) => i + 1));
    for (const [name, taken] of load.readers) {
      expect([name, ...taken.wrong]).toEqual([name]);
      expect(taken.positions.get(WEBSITE), name).toEqual(positions);
    }
    const ids = load.readers.get('socket')?.ids ?? new Map<string, string>();
    const due = positions.slice(before).flatMap((position) => ids.get(`${WEBSITE} ${position}`) ?? []);
    expect([...delivered()].toSorted()).toEqual(due.toSorted());
    expect(receiver.got.filter((got) => !verified(endpoint.secret, got))).toEqual([]);

    const notes = await last.with(
      DATABASE,
      (sql) => sql<{ text: string; n: number }[]>`
        SELECT text, count(*)::integer AS n FROM platform.note WHERE text LIKE 'failover-%' GROUP BY text`,
    );
    const kept = new Map(notes.map(({ text, n }) => [text, n]));
    const lost = [...load.acknowledged.keys()].filter((text) => !kept.has(text));
    const doubled = notes.filter(({ n }) => n > 1);
    expect([lost, doubled]).toEqual([[], []]);
    // The same key is answered as before, also by a gateway that never saw it.
    for (const [text, told] of [...load.acknowledged].filter((_, i) => i % 40 === 0)) {
      const { path, body } = restOf(note(text));
      for (const gateway of gateways)
        expect(await load.call(gateway, path, { key: text, body })).toEqual({ status: 200, text: told, replayed: true });
    }
    const tasks = await last.with(
      DATABASE,
      (sql) => sql<{ id: string; state: string }[]>`SELECT id, state FROM gateway.task`,
    );
    expect(tasks.map(({ id }) => id).toSorted()).toEqual([...load.tasks.values()].toSorted());
    expect(tasks.filter(({ state }) => !/completed|failed/.test(state))).toEqual([]);
    expect([...load.wrong]).toEqual([]);
    process.stdout.write(
      `${FAULTS.length} faults: ${load.attempts} calls, ${load.acknowledged.size} notes acknowledged, lost ${lost.length}, doubled ${doubled.length}; ${positions.length} receipts, ${receiver.got.length} deliveries; ${tasks.length} tasks, of them ${tasks.filter(({ state }) => state === 'failed').length} failed\n`,
    );
    for (const replica of replicas) expect(await replica.end()).toEqual({ code: 0, signal: null });
    await receiver.close();
  },
  600_000,
);
