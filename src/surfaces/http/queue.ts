import type { Server } from 'node:net';

/** Milliseconds of a turn of the event loop in which nothing else is done: what connects meanwhile is left to chance. */
const SHORT = 0.2;
/** Milliseconds after which a server that is asked without a pause stops listening all the same. */
const PATIENCE = 200;

/**
 * Resolves, at the latest after 200 ms, in a moment in which the kernel holds no connection that `server` has not
 * accepted. To a client those are open, and it may have sent its request: it is reset where the listening socket is
 * closed over it (checks, F-18). Node accepts one connection a turn of its event loop.
 */
export async function queueEmpty(server: Server): Promise<void> {
  let accepted = false;
  const note = (): void => {
    accepted = true;
  };
  server.on('connection', note);
  const began = performance.now();
  for (let turn = began, empty = false; !empty && turn - began < PATIENCE; ) {
    accepted = false;
    await new Promise(setImmediate); // right behind the loop's look at its sockets
    const now = performance.now();
    empty = !accepted && now - turn < SHORT;
    turn = now;
  }
  server.off('connection', note);
}
