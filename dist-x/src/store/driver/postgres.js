import postgres from 'postgres';
import { Attempts, OF_THE_STORE } from './attempts.js';
import { Connections, WITHOUT_SERVER } from './connections.js';
import { mayRepeat } from './errors.js';
import { foreign } from './foreign.js';
import { hostsOf } from './hosts.js';
import { listenOn } from './listen.js';
import { GRACE, openRuns } from './runs.js';
import { sessionSettings } from './settings.js';
import { AS_TEXT, PARSED } from './types.js';
/** A read that has taken longer is not sent again, so that its caller has a 503 in time. */
const repeatWithin = (statementTimeout) => Math.max(500, statementTimeout / 5);
/** The socket folder, if it is the host of the address (`%2Ftmp%2Fpg`, as in libpq), which the driver cannot read. */
function socketOf(address) {
    const host = decodeURIComponent(new URL(address).hostname);
    return host.startsWith('/') ? { host } : {};
}
const driverOf = (server, options) => typeof server === 'string'
    ? postgres(server, { ...options, ...socketOf(server) })
    : postgres({ ...options, ...server });
export function openDatabase(options) {
    const { target, direct } = options;
    const theirs = options.foreign === true && typeof target === 'string' ? foreign(target) : undefined;
    const [hosts, listened] = [target, direct ?? target].map((server) => options.primary === true && typeof server === 'string' ? hostsOf(server) : undefined);
    const shared = {
        max: 1,
        // The driver would wait up to 20 s between attempts. A caller needs its 503 at once, and its data soon after a
        // restart.
        backoff: () => 0,
        // Shorter than a caller's wait. Otherwise a connection lost in its TLS handshake would stay open and unused. After a
        // silent host, the next one must have its turn soon.
        connect_timeout: Math.min(hosts && hosts.count > 1 ? 2 : 5, options.statementTimeout / 1000),
        // The class Connections replaces old connections, so the driver does not.
        max_lifetime: null,
        onnotice: () => undefined,
        // Off, because nobody catches a failure of this look-up: if a backend ends during it, the process ends. The gateway
        // knows its array types.
        fetch_types: false,
        types: options.foreign === true ? AS_TEXT : PARSED,
        connection: sessionSettings(options),
        ...(theirs && { ssl: theirs.ssl }),
    };
    const prepare = direct === undefined || (typeof target === 'string' && /[?&]prepare=true\b/.test(target));
    const attempts = options.primary === true ? OF_THE_STORE : new Attempts();
    const dials = new WeakMap();
    const connect = () => {
        const server = hosts?.current ?? target;
        const dial = attempts.dial(theirs?.socket, (cutOff) => typeof server === 'string' && hosts?.leave(server, cutOff));
        const onclose = () => connections.ended(driver);
        const driver = driverOf(server, { ...shared, prepare, socket: dial.socket, onclose });
        dials.set(driver, dial);
        return driver;
    };
    const connectListener = (events) => {
        const server = listened?.current ?? direct ?? target;
        const connection = sessionSettings({ ...options, direct: undefined });
        const dial = attempts.dial(theirs?.socket, () => typeof server === 'string' && listened?.leave(server));
        return { ...dial, pool: driverOf(server, { ...shared, connection, socket: dial.socket, ...events }) };
    };
    const listeners = new Set();
    const withoutServer = options.primary === true ? WITHOUT_SERVER : undefined;
    const connections = new Connections(options.connections, connect, (driver) => dials.get(driver)?.hangUp(), (freed) => attempts.wait(freed), withoutServer);
    const unfollow = hosts?.follow(() => connections.renew());
    const runs = openRuns({
        ...options,
        ...{ connections, size: options.connections, prepare, dialOf: (driver) => dials.get(driver) },
    });
    return {
        query: runs.alone,
        read: async (statement) => {
            const began = performance.now();
            try {
                return await runs.shared(statement);
            }
            catch (error) {
                if (!mayRepeat(error) || performance.now() - began > repeatWithin(options.statementTimeout))
                    throw error;
                return runs.alone(statement);
            }
        },
        script: runs.script,
        listen(channel, heard) {
            const listening = listenOn({
                connect: connectListener,
                mustWait: () => attempts.wait(),
                channel,
                heard,
                patience: options.statementTimeout + GRACE,
            });
            const own = {
                close: async () => {
                    listeners.delete(own);
                    await listening.close();
                },
            };
            listeners.add(own);
            return own;
        },
        close: async () => {
            unfollow?.();
            await Promise.all([...listeners].map((listening) => listening.close()));
            await connections.close(5);
        },
    };
}
//# sourceMappingURL=postgres.js.map