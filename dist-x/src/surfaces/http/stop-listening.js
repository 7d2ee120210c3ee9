import { Server as NetServer } from 'node:net';
/** Milliseconds of a quiet turn of the event loop. Short, because clients that connect in the last turn are reset. */
const QUIET_TURN = 0.1;
/** Milliseconds after which even a busy server stops listening. Must be less than LEAVE_TIMEOUT (server.ts). */
const LONGEST_WAIT = 900;
/**
 * Stops listening. Resolves when all connections have ended.
 *
 * When a server stops listening, the kernel resets clients that are connected but not yet accepted, even if they have
 * sent a request (check F-18). Node accepts one client in each turn of the event loop. So this function first waits for
 * two quiet turns in a row. Measurements: docs/decisions/hostile-clients-host.md.
 */
export function stopListening(server) {
    // Node compiles close() at its first call. A client could connect meanwhile, so make the first call now.
    new NetServer().close(() => undefined);
    let accepted = true;
    const note = () => {
        accepted = true;
    };
    server.on('connection', note);
    const began = performance.now();
    let turn = began;
    let quiet = 0;
    return new Promise((resolve) => {
        // setImmediate runs directly after the event loop has polled its sockets.
        const look = () => {
            const now = performance.now();
            quiet = accepted || now - turn > QUIET_TURN ? 0 : quiet + 1;
            if (quiet < 2 && now - began < LONGEST_WAIT) {
                accepted = false;
                turn = now;
                setImmediate(look);
                return;
            }
            // The close() of an HTTP server would also cut idle connections and stop the check for slow clients.
            NetServer.prototype.close.call(server, () => resolve());
            server.off('connection', note);
        };
        look();
    });
}
//# sourceMappingURL=stop-listening.js.map