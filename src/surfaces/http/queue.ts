import { Server as NetServer } from 'node:net';

/** A turn of the event loop up to this many milliseconds is quiet. A client that connects in the last turn is reset. */
const QUIET_TURN = 0.1;
/**
 * After this many milliseconds, even a busy server stops listening. The value is less than LEAVE_TIMEOUT in server.ts,
 * so that the caller still waits at that time.
 */
const LONGEST_WAIT = 900;

/**
 * Stops listening. The promise resolves when all connections have ended. At the stop, the kernel resets clients that
 * are connected but not yet accepted. Such a client may already have sent a request (check F-18). Node accepts one
 * client in each turn of the event loop. The function therefore waits for two quiet turns in a row before it stops.
 * Measurements: docs/decisions/hostile-clients-host.md.
 */
export function stopListening(server: NetServer): Promise<void> {
  // Node compiles close() at its first call. Make that call now, because a client can connect during the compilation.
  new NetServer().close(() => undefined);
  let accepted = true;
  const note = (): void => {
    accepted = true;
  };
  server.on('connection', note);
  const began = performance.now();
  let turn = began;
  let quiet = 0;
  return new Promise((resolve) => {
    // setImmediate runs this function directly after the event loop has polled its sockets.
    const look = (): void => {
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
