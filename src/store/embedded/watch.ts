import { PeriodicJob } from '../../flow/periodic-job.ts';
import { errorCode, StoreUnavailable } from './unavailable.ts';

/** Two pauses in milliseconds. `interval`: the pause between two checks. `rest`: the pause after a failed restart. */
const interval = 500;
const rest = 5000;

/**
 * Restarts a server with `revive` after it was killed, for example by the out-of-memory killer. The returned function
 * ends the watch after a running restart. The timer does not keep the process alive.
 */
export function watch(options: {
  lives: () => boolean;
  revive: () => Promise<void>;
  log: (message: string) => void;
}): () => Promise<void> {
  const { lives, revive, log } = options;
  let quietUntil = 0;
  const job = new PeriodicJob({
    every: interval,
    run: async () => {
      if (Date.now() < quietUntil || lives()) return;
      log('PostgreSQL ended unexpectedly; starting it again');
      await revive();
    },
    onError: (error) => {
      quietUntil = Date.now() + rest;
      if (error instanceof StoreUnavailable) log(error.message);
      else log(`PostgreSQL could not be started again (${errorCode(error) ?? String(error)})`);
    },
  });
  return () => job.stop();
}
