import type { Authority } from '../../core/authority.ts';
import { Failure } from '../../core/failures.ts';
import { PeriodicJob } from '../../flow/periodic-job.ts';
import { elsewhere, loadAuthority } from '../../store/calls/authority.ts';
import { isUnavailable } from '../../store/driver/errors.ts';
import {
  endedSessions,
  type HeldSession,
  releaseSession,
  renewSessions,
  type SessionEnd,
  type TicketUse,
  ticketHolder,
  useTicket,
} from '../../store/events/realtime-sessions.ts';
import { RealtimeConnection } from './connection.ts';
import type { CloseCause } from './frames.ts';
import { Pages, type PagesOptions } from './pages.ts';
import { TIMINGS, type Timings, type Wire } from './wire.ts';

export interface RealtimeOptions extends Omit<PagesOptions, 'every' | 'authority'> {
  readonly permitted: (authority: Authority) => boolean;
  readonly timings?: Partial<Timings>;
}

export interface Admitted extends HeldSession {
  readonly authority: Authority;
  /** The client's address. */
  readonly from: string;
  /** The end of the session in Unix milliseconds. */
  readonly expiresAt: number;
}

export interface Realtime {
  /**
   * Exchanges a ticket of a client at `from` for its session. A ticket works once. Undefined if it opens no session.
   */
  admit(use: TicketUse, from: string): Promise<Admitted | undefined>;
  connect(admitted: Admitted, wire: Wire): RealtimeConnection;
  readonly size: number;
  stop(): Promise<void>;
}

const CAUSE: Readonly<Record<SessionEnd, CloseCause>> = {
  authority: 'authority',
  closed: 'closed',
  expired: 'unknown',
  replaced: 'replaced',
};

/** Milliseconds between two renewals of the leases on this process's sessions. */
const RENEW = 15_000;

export function openRealtime(options: RealtimeOptions): Realtime {
  const { db, permitted } = options;
  const timings = { ...TIMINGS, ...options.timings };
  // While the store is down, each look-up, check and page fails. Report only the first error, until a check succeeds.
  let away = false;
  const onError = (error: unknown): void => {
    if (!away || !isUnavailable(error)) options.onError(error);
    away ||= isUnavailable(error);
  };
  const connections = new Set<RealtimeConnection>();

  type Found = Awaited<ReturnType<typeof loadAuthority>>;
  const outside = (found: Found, from: string): boolean => found?.authority.admits?.(from) === false;
  /**
   * The authority, limited to a session's websites. Undefined if it ended, may not stream, lacks a website, or may not be
   * used from the client's address.
   */
  const narrowed = (found: Found, websites: readonly string[], from: string): Authority | undefined => {
    if (outside(found, from)) return undefined;
    if (found?.state !== 'valid' || !permitted(found.authority)) return undefined;
    const kept = [...found.authority.websites].filter(([, { site }]) => websites.includes(site));
    return kept.length === websites.length ? { ...found.authority, websites: new Map(kept) } : undefined;
  };
  const sitesOf = ({ websites }: Authority): string[] => [...websites.values()].map(({ site }) => site);
  const again: Pages['authority'] = async (authority, from) =>
    narrowed(await loadAuthority(db, authority.digest), sitesOf(authority), from);

  const pages = new Pages({ ...options, onError, every: timings.look, authority: again });

  let provedAt = performance.now();
  const check = async (): Promise<void> => {
    const held = [...connections];
    if (held.length === 0) {
      provedAt = performance.now();
      return;
    }
    const ended = new Map((await endedSessions(db, held)).map(({ session, why }) => [session, why]));
    provedAt = performance.now();
    away = false;
    // Sockets with the same token share one look-up of the authority.
    const looked = new Map<string, Promise<Found>>();
    const together: Pages['authority'] = async (authority, from) => {
      const key = Buffer.from(authority.digest).toString('hex');
      const found = looked.get(key) ?? loadAuthority(db, authority.digest);
      looked.set(key, found);
      return narrowed(await found, sitesOf(authority), from);
    };
    const proving: Promise<void>[] = [];
    for (const connection of held) {
      const why = ended.get(connection.session);
      if (why === undefined || !connections.has(connection)) continue;
      if (why !== 'changed') connection.close(CAUSE[why]);
      else proving.push(connection.prove(together).catch(onError));
    }
    await Promise.all(proving);
  };

  const checks = new PeriodicJob({ every: timings.check, run: check, onError });
  // The timeouts of sockets have their own timer. A check of the sessions can hang, but the timeouts must not wait for
  // this check.
  const ticks = setInterval(() => {
    const now = performance.now();
    for (const connection of [...connections]) {
      if (now - provedAt > timings.unproved) connection.close('unavailable');
      else connection.tick(now);
    }
  }, timings.check).unref();

  const releasing = new Set<Promise<void>>();
  let stopped = false;
  const renewals = new PeriodicJob({
    every: RENEW,
    run: async () => {
      if (connections.size > 0) await renewSessions(db, [...connections]);
    },
    onError,
  });

  return {
    get size() {
      return connections.size;
    },
    async admit(use, from) {
      // Check the authority first: a refused upgrade must not use up the ticket.
      const holder = await ticketHolder(db, use);
      const found = holder ? await loadAuthority(db, holder.digest) : null;
      if (found && outside(found, from)) {
        // The answer for a wrong ticket, so that the caller learns nothing.
        throw new Failure('not_found', { actor: found.authority, logged: 'address_refused' });
      }
      const away = found && elsewhere(found);
      if (away) throw away;
      const authority = holder && narrowed(found, holder.sites, from);
      const held = authority && (await useTicket(db, use));
      return held && { session: use.session, authority, from, ...held };
    },
    connect(admitted, wire) {
      const connection = new RealtimeConnection({
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
      // A client that reads nothing can end it before this line, at its first frame.
      if (connection.ended === undefined) connections.add(connection);
      // `stop` was called during the handshake.
      if (stopped) connection.close('restart');
      return connection;
    },
    async stop() {
      stopped = true;
      clearInterval(ticks);
      const stopping = [checks.stop(), renewals.stop()];
      for (const connection of [...connections]) connection.close('restart');
      await pages.stop();
      await Promise.all([...stopping, ...releasing]);
    },
  };
}
