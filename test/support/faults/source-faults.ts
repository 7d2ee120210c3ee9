import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { pickFrom } from '../random.ts';
import { type Replica, startReplica } from '../replica.ts';
import { type SourceWorld, STORE } from './sources.ts';

/** A time in which no gateway can follow: a server is down, or a lease has to expire. Times of performance.now(). */
export interface Window {
  readonly what: string;
  readonly from: number;
  readonly until: number;
}

/** A gateway with its own database role, which shows in the store which gateway took a source. */
interface Gateway extends Replica {
  readonly role: string;
}

/** Milliseconds of a lease, and until the next search for free sources. */
const LEASE = 10_000 + 1_500;
const SHORT_LEASE = 1_000 + 1_500;
/** Milliseconds until a failed source is tried again. */
const RETRY = 5_000 + 1_500;
/** Milliseconds. A change shortly before a fault can wait for its end too. */
const BEFORE = 2_000;

/** A file about the process in /proc. Empty if the process has ended. */
function about({ pid }: Replica, name: 'status' | 'stat'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return ''; // the process has ended
  }
}
const memoryOf = (one: Replica): number => Number(/VmRSS:\s+(\d+)/.exec(about(one, 'status'))?.[1] ?? 0) / 1024;
/** The kernel counts in hundredths of a second. */
const cpuOf = (one: Replica): number => {
  const fields = about(one, 'stat').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100;
};

export interface Fleet {
  readonly windows: readonly Window[];
  /** Resident memory of a gateway in MB, at most and now, and the CPU seconds of all gateways. */
  spent(): { readonly most: number; readonly last: readonly number[]; readonly cpu: number };
  /** Kills the gateway that runs the first source, and starts a new one. The other gateway takes over. */
  killHolder(): Promise<void>;
  /** Stops the gateway that runs the first source until its lease has expired. Then lets it continue. */
  freezeHolder(milliseconds: number): Promise<void>;
  crash(server: 'chatwoot' | 'store'): Promise<void>;
  logs(): string;
  /** How often a gateway took a source from another one. */
  takeovers(): Promise<number>;
  close(): Promise<void>;
}

/** Starts two gateways. `impatient` shortens a dead gateway's lease, so that the short form does not wait long. */
export async function openFleet(
  { servers, sql, sources }: SourceWorld,
  { impatient, keys, random }: { impatient: boolean; keys: string; random: () => number },
): Promise<Fleet> {
  const lease = impatient ? SHORT_LEASE : LEASE;
  const windows: Window[] = [];
  const all: Gateway[] = [];
  let roles = 0;
  const start = async (): Promise<Gateway> => {
    const role = `gateway_${++roles}`;
    await sql.unsafe(`CREATE ROLE ${role} SUPERUSER LOGIN`);
    for (let attempt = 1; ; attempt++) {
      try {
        const replica = await startReplica({
          databaseUrl: servers.store.url(STORE).replace('postgres@', `${role}@`),
          env: { GATEWAY_KEYS: keys, LOG_LEVEL: 'warn' },
        });
        const gateway = { ...replica, role };
        all.push(gateway);
        return gateway;
      } catch (error) {
        // The store can be down now. Start again, as a supervisor does.
        if (attempt === 20) throw error;
        await pause(500);
      }
    }
  };
  const living = await Promise.all([start(), start()]);

  let most = 0;
  const cpu = new Map<number, number>();
  const watch = setInterval(() => {
    for (const one of living) {
      most = Math.max(most, memoryOf(one));
      cpu.set(one.pid, Math.max(cpu.get(one.pid) ?? 0, cpuOf(one)));
    }
  }, 500);

  const holder = async (): Promise<number> => {
    const [row] = await sql<{ who: string }[]>`
      SELECT t.who FROM public.taken t WHERE t.source = ${sources[0]?.id ?? ''} ORDER BY t.epoch DESC LIMIT 1`;
    return Math.max(
      0,
      living.findIndex(({ role }) => role === row?.who),
    );
  };
  /** Lets the leases of a gateway end soon. A living gateway renews its leases every three seconds. */
  const expire = async (role: string): Promise<void> => {
    if (!impatient) return;
    await sql`UPDATE gateway.source s SET lease_until = least(lease_until, now() + interval '1 second')
      WHERE lease_until > now() AND (SELECT t.who FROM public.taken t WHERE t.source = s.id ORDER BY t.epoch DESC LIMIT 1) = ${role}`;
  };
  const during = async (what: string, after: number, work: () => Promise<void>): Promise<void> => {
    const from = performance.now() - BEFORE;
    await work();
    windows.push({ what, from, until: performance.now() + after });
  };
  return {
    windows,
    spent: () => ({
      most: Math.round(most),
      last: living.map((one) => Math.round(memoryOf(one))),
      cpu: [...cpu.values()].reduce((sum, seconds) => sum + seconds, 0),
    }),
    killHolder: async () => {
      const at = await holder();
      const killed = living[at];
      if (killed === undefined) throw new Error('no gateway lives');
      await pause(random() * 300);
      await during('kill of a gateway', lease, async () => void (await killed.kill9()));
      await expire(killed.role);
      living[at] = await start();
    },
    freezeHolder: async (milliseconds) => {
      const frozen = living[await holder()];
      if (frozen === undefined) throw new Error('no gateway lives');
      const from = performance.now() - BEFORE;
      await frozen.stop();
      await expire(frozen.role);
      await pause(milliseconds);
      frozen.cont();
      windows.push({ what: 'stop of a gateway', from, until: from + BEFORE + lease });
    },
    crash: async (server) => {
      await during(`crash of the server of ${server}`, RETRY, async () => {
        await servers[server].kill();
        await pause(pickFrom([100, 500, 1_000], random));
        await servers[server].start();
      });
    },
    logs: () => all.map((one) => one.log()).join(''),
    takeovers: async () => {
      const [row] = await sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM (
        SELECT who, lag(who) OVER (PARTITION BY source ORDER BY epoch) AS before FROM public.taken) t WHERE who <> before`;
      return row?.n ?? 0;
    },
    close: async () => {
      clearInterval(watch);
      await Promise.all(all.map((one) => one.kill9()));
    },
  };
}
