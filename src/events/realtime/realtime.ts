import type { Authority } from '../../core/authority.ts';
import { loadAuthority } from '../../store/credentials.ts';
import type { Database } from '../../store/postgres.ts';
import {
  type Ended,
  endedSessions,
  type HeldSession,
  releaseSession,
  renewSessions,
  type TicketUse,
  ticketHolder,
  useTicket,
} from '../../store/realtime.ts';
import type { CursorKeys } from '../cursors.ts';
import { Connection } from './connection.ts';
import type { CloseCause } from './frames.ts';
import { Pages } from './pages.ts';
import { TIMINGS, type Timings, type Wire } from './wire.ts';

export interface RealtimeOptions {
  readonly db: Database;
  readonly keys: CursorKeys;
  readonly eventKey: () => Promise<Uint8Array>;
  /** Whether an authority may stream at all. */
  readonly permitted: (authority: Authority) => boolean;
  /** Charges a page, a scan or an attach, and says how many units that came to; throws `quota_exceeded`. */
  readonly charge: (authority: Authority) => Promise<number>;
  /** Gives units back. */
  readonly refund: (authority: Authority, units: number) => void;
  /** What went wrong and is tried again. */
  readonly onError: (error: unknown) => void;
  /** Shorter ones for tests. */
  readonly timings?: Partial<Timings>;
}

/** A session that an upgrade's ticket has opened. */
export interface Admitted extends HeldSession {
  readonly authority: Authority;
  readonly expiresAt: number;
}

/** The sockets of this process (contract, Realtime; decisions, section 14). */
export interface Realtime {
  /** The session that the ticket opens, which uses it up; `undefined` where it opens none. */
  admit(use: TicketUse): Promise<Admitted | undefined>;
  /** The handshake is done. */
  connect(admitted: Admitted, wire: Wire): Connection;
  /** Sockets now. */
  readonly size: number;
  /** Closes all sockets for a restart. */
  stop(): Promise<void>;
}

const CAUSE: Readonly<Record<Ended, CloseCause>> = {
  authority: 'authority',
  closed: 'closed',
  expired: 'unknown',
  replaced: 'replaced',
};

/** Milliseconds between renewals of the sessions that this process holds. */
const RENEW = 15_000;
/** Milliseconds without any answer of the store after which nothing may be streamed on (decisions, section 14). */
const UNPROVED = 30_000;

export function openRealtime(options: RealtimeOptions): Realtime {
  const { db, permitted, onError } = options;
  const timings = { ...TIMINGS, ...options.timings };
  const connections = new Set<Connection>();

  /** The token's authority as it is now, narrowed to the session's websites. */
  const current = async (digest: Uint8Array, websites: readonly string[]): Promise<Authority | undefined> => {
    const found = await loadAuthority(db, digest);
    if (found?.state !== 'valid' || !permitted(found.authority)) return undefined;
    const kept = [...found.authority.websites].filter(([, { site }]) => websites.includes(site));
    return kept.length === websites.length ? { ...found.authority, websites: new Map(kept) } : undefined;
  };
  const again = (authority: Authority): Promise<Authority | undefined> =>
    current(
      authority.digest,
      [...authority.websites.values()].map(({ site }) => site),
    );

  const pages = new Pages({ ...options, every: timings.look, authority: again });

  let provedAt = performance.now();
  const check = async (): Promise<void> => {
    const held = [...connections];
    if (held.length === 0) {
      provedAt = performance.now();
      return;
    }
    const ended = new Map((await endedSessions(db, held)).map(({ session, why }) => [session, why]));
    provedAt = performance.now();
    for (const connection of held) {
      const why = ended.get(connection.session);
      if (why === undefined || !connections.has(connection)) continue;
      if (why !== 'changed') connection.close(CAUSE[why]);
      else await connection.prove();
    }
  };

  let checking: Promise<void> | undefined;
  const timer = setInterval(() => {
    const now = performance.now();
    for (const connection of [...connections]) {
      if (now - provedAt > UNPROVED) connection.close('unavailable');
      else connection.tick(now);
    }
    checking ??= check()
      .catch(onError)
      .finally(() => {
        checking = undefined;
      });
  }, timings.check).unref();

  const releasing = new Set<Promise<void>>();
  let stopped = false;
  let renewing: Promise<void> = Promise.resolve();
  const renewal = setInterval(() => {
    if (connections.size > 0) renewing = renewSessions(db, [...connections]).catch(onError);
  }, RENEW).unref();

  return {
    get size() {
      return connections.size;
    },
    async admit(use) {
      // Everything that can be refused is, before the ticket is used up.
      const holder = await ticketHolder(db, use);
      const authority = holder && (await current(holder.digest, holder.sites));
      const held = authority && (await useTicket(db, use));
      return held && { session: use.session, authority, ...held };
    },
    connect(admitted, wire) {
      const connection = new Connection({
        ...admitted,
        wire,
        pages,
        timings,
        onEnd: (ended) => {
          connections.delete(ended);
          const release = releaseSession(db, ended)
            .catch(onError)
            .finally(() => releasing.delete(release));
          releasing.add(release);
        },
      });
      connections.add(connection);
      // Its handshake was under way.
      if (stopped) connection.close('restart');
      return connection;
    },
    async stop() {
      stopped = true;
      clearInterval(timer);
      clearInterval(renewal);
      for (const connection of [...connections]) connection.close('restart');
      await pages.stop();
      await Promise.all([checking, renewing, ...releasing]);
    },
  };
}
