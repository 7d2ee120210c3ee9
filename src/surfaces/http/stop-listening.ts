import { Server as NetServer } from 'node:net';

/** Milliseconds of a quiet turn of the event loop. Short, because clients that connect in the last turn are reset. */
const QUIET_TURN = 0.1;
/**
 * Milliseconds after which even a busy server stops listening. With six busy loops on two cores, 15 runs of check F-18
 * lost 24 requests with 900 ms. With 2 s, 11 runs lost none (30 November 2026).
 */
const LONGEST_WAIT = 2_000;

export interface StoppedListening {
  /** Resolves when new clients are refused. */
  readonly refusing: Promise<void>;
  /** Resolves when all connections have ended. */
  readonly ended: Promise<void>;
}

/**
 * Stops listening.
 *
 * When a server stops listening, the kernel resets clients that are connected but not yet accepted, even if they have
 * sent a request (check F-18). Node accepts one client in each turn of the event loop. So this function first waits for
 * two quiet turns in a row. Measurements: docs/decisions/hostile-clients-host.md.
 */
export function stopListening(server: NetServer): StoppedListening {
  // Node compiles close() at its first call. A client could connect meanwhile, so make the first call now.
  new NetServer().close(() => undefined);
  let accepted = true;
  const note = (): void => {
    accepted = true;
  };
  server.on('connection', note);
  const began = performance.now();
  let turn = began;
  let quiet = 0;
  let allEnded = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    allEnded = resolve;
  });
  const refusing = new Promise<void>((resolve) => {
    // setImmediate runs directly after the event loop has polled its sockets.
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
      NetServer.prototype.close.call(server, allEnded);
      server.off('connection', note);
      resolve();
    };
    look();
  });
  return { refusing, ended };
}
