import { errorCode, StoreUnavailable } from './unavailable.ts';

/** How often to look, and how long to leave a failed revival alone, in milliseconds. */
const interval = 500;
const rest = 5000;

/**
 * Looks after a server that may be killed from outside (by the out-of-memory killer, say): `revive` starts it again.
 * Returns how to end the watch, which waits for a revival under way. The timer keeps no process alive.
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
    log('PostgreSQL has gone without being stopped; starting it again');
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
