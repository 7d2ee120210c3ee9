import type { Logger } from 'pino';
import { Rounds } from '../core/rounds.ts';
import type { Store } from '../store/open/open.ts';

/** Milliseconds until the gateway looks again for indexes to build. */
const EVERY = 30_000;

/**
 * Builds the indexes that a migration has left to build, while the gateway serves. `stop` resolves with true when a build
 * was left running. The process must then exit.
 */
export function buildInBackground(store: Store, log: Logger, stop: AbortSignal): { stop(): Promise<boolean> } {
  let left = false;
  const builds = new Rounds({
    every: EVERY,
    round: async (ended) => {
      left = !(await store.build(ended));
    },
    onError: (error) => log.warn({ err: error }, 'building an index failed; it is tried again'),
  });
  builds.wake();
  stop.addEventListener('abort', () => void builds.stop(), { once: true });
  return { stop: () => builds.stop().then(() => left) };
}
