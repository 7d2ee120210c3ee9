import { Server as NetServer } from 'node:net';

/** Milliseconds of a quiet turn of the event loop, at most: whoever connects during the last one is reset. */
const SHORT = 0.1;
/** Milliseconds after which a server that is never quiet stops listening all the same: before its caller goes on (server.ts). */
const PATIENCE = 900;

/**
 * Stops listening; resolves when all connections have ended. The kernel resets clients that it has connected and that nobody
 * has accepted, though they may have sent a request (checks, F-18). Node accepts one client a turn, so this waits for two
 * quiet turns in a row. What each part is worth: docs/decisions/hostile-clients-host.md.
 */
export function stopListening(server: NetServer): Promise<void> {
  // Practice: Node compiles close() at its first call, and a client may connect meanwhile.
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
    // Runs right behind the loop's look at its sockets.
    const look = (): void => {
      const now = performance.now();
      quiet = accepted || now - turn > SHORT ? 0 : quiet + 1;
      if (quiet < 2 && now - began < PATIENCE) {
        accepted = false;
        turn = now;
        setImmediate(look);
        return;
      }
      // An HTTP server's own close() would cut idle connections, and stop looking for slow ones.
      NetServer.prototype.close.call(server, () => resolve());
      server.off('connection', note);
    };
    look();
  });
}
