import { Server as NetServer } from 'node:net';

/** Longest quiet turn of the event loop in milliseconds. A client that connects during the last turn is reset. */
const QUIET_TURN = 0.1;
/**
 * After this many milliseconds a busy server stops listening too. It is less than LEAVE_TIMEOUT in server.ts, so the
 * caller waits for it.
 */
const LONGEST_WAIT = 900;

/**
 * Stops listening, and resolves when all connections have ended. The kernel resets clients that are connected but not
 * yet accepted, and they may have sent a request (checks, F-18). Node accepts one client each turn, so this function
 * waits for two quiet turns in a row. Measurements: docs/decisions/hostile-clients-host.md.
 */
export function stopListening(server: NetServer): Promise<void> {
  // Node compiles close() at its first call. Call it once here, because a client may connect during the compilation.
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
    // setImmediate runs this directly after the event loop polls its sockets.
    const look = (): void => {
      const now = performance.now();
      quiet = accepted || now - turn > QUIET_TURN ? 0 : quiet + 1;
      if (quiet < 2 && now - began < LONGEST_WAIT) {
        accepted = false;
        turn = now;
        setImmediate(look);
        return;
      }
      // The close() of an HTTP server would also cut idle connections and stop the check for slow ones.
      NetServer.prototype.close.call(server, () => resolve());
      server.off('connection', note);
    };
    look();
  });
}
