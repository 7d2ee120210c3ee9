import { Failure } from '../../core/failures.js';
import { PeriodicJob } from '../../flow/periodic-job.js';
import { loadAuthority } from '../../store/calls/authority.js';
import { isUnavailable } from '../../store/driver/errors.js';
import { endedSessions, releaseSession, renewSessions, ticketHolder, useTicket, } from '../../store/events/realtime-sessions.js';
import { RealtimeConnection } from './connection.js';
import { Pages } from './pages.js';
import { TIMINGS } from './wire.js';
const CAUSE = {
    authority: 'authority',
    closed: 'closed',
    expired: 'unknown',
    replaced: 'replaced',
};
/** Milliseconds between two renewals of the leases on this process's sessions. */
const RENEW = 15_000;
export function openRealtime(options) {
    const { db, permitted } = options;
    const timings = { ...TIMINGS, ...options.timings };
    // While the store is down, each look-up, check and page fails. Report only the first error, until a check succeeds.
    let away = false;
    const onError = (error) => {
        if (!away || !isUnavailable(error))
            options.onError(error);
        away ||= isUnavailable(error);
    };
    const connections = new Set();
    const outside = (found, from) => found?.authority.admits?.(from) === false;
    /**
     * The authority, limited to a session's websites. Undefined if it ended, may not stream, lacks a website, or may not be
     * used from the client's address.
     */
    const narrowed = (found, websites, from) => {
        if (outside(found, from))
            return undefined;
        if (found?.state !== 'valid' || !permitted(found.authority))
            return undefined;
        const kept = [...found.authority.websites].filter(([, { site }]) => websites.includes(site));
        return kept.length === websites.length ? { ...found.authority, websites: new Map(kept) } : undefined;
    };
    const sitesOf = ({ websites }) => [...websites.values()].map(({ site }) => site);
    const again = async (authority, from) => narrowed(await loadAuthority(db, authority.digest), sitesOf(authority), from);
    const pages = new Pages({ ...options, onError, every: timings.look, authority: again });
    let provedAt = performance.now();
    const check = async () => {
        const held = [...connections];
        if (held.length === 0) {
            provedAt = performance.now();
            return;
        }
        const ended = new Map((await endedSessions(db, held)).map(({ session, why }) => [session, why]));
        provedAt = performance.now();
        away = false;
        // Sockets with the same token share one look-up of the authority.
        const looked = new Map();
        const together = async (authority, from) => {
            const key = Buffer.from(authority.digest).toString('hex');
            const found = looked.get(key) ?? loadAuthority(db, authority.digest);
            looked.set(key, found);
            return narrowed(await found, sitesOf(authority), from);
        };
        const proving = [];
        for (const connection of held) {
            const why = ended.get(connection.session);
            if (why === undefined || !connections.has(connection))
                continue;
            if (why !== 'changed')
                connection.close(CAUSE[why]);
            else
                proving.push(connection.prove(together).catch(onError));
        }
        await Promise.all(proving);
    };
    const checks = new PeriodicJob({ every: timings.check, run: check, onError });
    // The timeouts of sockets have their own timer. A check of the sessions can hang, but the timeouts must not wait for
    // this check.
    const ticks = setInterval(() => {
        const now = performance.now();
        for (const connection of [...connections]) {
            if (now - provedAt > timings.unproved)
                connection.close('unavailable');
            else
                connection.tick(now);
        }
    }, timings.check).unref();
    const releasing = new Set();
    let stopped = false;
    const renewals = new PeriodicJob({
        every: RENEW,
        run: async () => {
            if (connections.size > 0)
                await renewSessions(db, [...connections]);
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
            connections.add(connection);
            // `stop` was called during the handshake.
            if (stopped)
                connection.close('restart');
            return connection;
        },
        async stop() {
            stopped = true;
            clearInterval(ticks);
            const stopping = [checks.stop(), renewals.stop()];
            for (const connection of [...connections])
                connection.close('restart');
            await pages.stop();
            await Promise.all([...stopping, ...releasing]);
        },
    };
}
//# sourceMappingURL=realtime.js.map