import { errorCode, StoreUnavailable } from './unavailable.ts';

/** Milliseconds between two checks (`interval`) and after a failed restart (`rest`). */
const interval = 500;
const rest = 5000;

/**
 * Watches a server that something outside can kill, for example the out-of-memory killer. Starts the server again with
 * `revive`. The returned function ends the watch and waits for a running restart. The timer keeps no process alive.
 */
export function watch(options: {
  lives: () => boolean;
  revive: () => Promise<void>;
  log: (message: string) => void;
}): () => Promise<void> {
  const { lives, revive, log } = options;
  let reviving: Promise<void> | undefined;
  let quietUntil = 0;
  const timer = setInterval(() => {
    if (reviving || Date.now() < quietUntil || lives()) return;
    log('PostgreSQL ended unexpectedly; starting it again');
    reviving = revive()
      .catch((error: unknown) => {
        quietUntil = Date.now() + rest;
        if (error instanceof StoreUnavailable) log(error.message);
        else log(`PostgreSQL could not be started again (${errorCode(error) ?? String(error)})`);
      })
      .finally(() => {
        reviving = undefined;
      });
  }, interval);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await reviving;
  };
}
