import { setTimeout as pause } from 'node:timers/promises';
import { isFull } from './errors.js';
/** Milliseconds between two attempts to listen. The first attempt after a lost connection also waits for this time. */
const BACKOFF = 250;
/** Milliseconds between two test queries. Nothing else shows that a server has vanished. */
const STILL_THERE = 10_000;
/**
 * Listens on a channel of PostgreSQL until `close`. The driver's own `listen` is not used, because it has two defects.
 * First, the driver gives up when its first attempt after a lost connection is refused. Second, the driver gives the
 * state of the lost connection to the next connection. So each connection here has its own driver pool.
 */
export function listenOn({ connect, mustWait, channel, heard, patience }) {
    const stop = new AbortController();
    const once = async () => {
        const lost = new AbortController();
        const { pool, left, hangUp } = connect({
            onnotify: (name, payload) => {
                if (name === channel && !stop.signal.aborted)
                    heard(payload);
            },
            onclose: () => lost.abort(),
        });
        const either = AbortSignal.any([stop.signal, lost.signal]);
        const answered = (text) => Promise.race([
            pool.unsafe(text),
            pause(patience, undefined, { ref: false }).then(() => Promise.reject(new Error('no answer in time'))),
        ]);
        try {
            // A standby refuses to listen.
            await answered(`LISTEN "${channel.replaceAll('"', '""')}"`).catch((error) => {
                if (!isFull(error))
                    left('standby');
                throw error;
            });
            if (!either.aborted)
                heard('');
            while (!either.aborted) {
                await pause(STILL_THERE, undefined, { signal: either, ref: false });
                await answered('SELECT 1');
            }
        }
        finally {
            // Do not wait: if the server has vanished, this takes the whole time-out. The connection is never used again.
            pool.end({ timeout: 1 }).catch(() => undefined);
            hangUp();
        }
    };
    const ended = (async () => {
        // Only `close` aborts a pause. Ignore its error.
        const rest = (milliseconds) => pause(milliseconds, undefined, { signal: stop.signal, ref: false }).catch(() => undefined);
        while (!stop.signal.aborted) {
            const wait = mustWait();
            if (wait > 0) {
                await rest(Math.min(wait, BACKOFF));
                continue;
            }
            // Refused, lost, or closed by this process: the next attempt follows in each case, so ignore the error.
            await once().catch(() => undefined);
            await rest(BACKOFF);
        }
    })();
    return {
        close: async () => {
            stop.abort();
            await ended;
        },
    };
}
//# sourceMappingURL=listen.js.map