import type { Run } from '../engine/run.ts';

/** The load took too much time, or its helpdesk answered too rarely. The message is for the operator. */
export class LoadStopped extends Error {
  override readonly name = 'LoadStopped';
}

/** How long a load may take. Waiting for other loads and imports does not count. */
export interface LoadBounds {
  /** While a load waits so many seconds for its helpdesk, at least `fewest` answers must come. */
  readonly window: number;
  readonly fewest: number;
  /** The longest time of a whole load, in seconds. */
  readonly total: number;
}

/** In an hour of waiting, 30 seconds an answer on average. In all, a day. */
export const BOUNDS: LoadBounds = { window: 3_600, fewest: 120, total: 86_400 };

/** Milliseconds between two updates of the time in the store. */
const COUNTED = 2_000;

/** Returns how long (ms) a load has waited for its helpdesk since the last call, and how many answers came. */
export type Waited = () => { readonly milliseconds: number; readonly answers: number };

/** Adds up the time of a load in the store, so that the sum survives this process. */
export function watchSpent(
  run: Pick<Run, 'spend'>,
  waited: Waited,
  bounds: LoadBounds,
  stop: (reason: LoadStopped) => void,
): { end(): Promise<void> } {
  const count = async (): Promise<void> => {
    const why = await run.spend(waited(), bounds);
    if (why !== undefined) stop(new LoadStopped(TEXTS[why](bounds)));
  };
  const every = Math.min(COUNTED, bounds.window * 250);
  // Ignore an error here, because the next statement of the load reports it.
  const timer = setInterval(() => count().catch(() => undefined), every).unref();
  return {
    end: async () => {
      clearInterval(timer);
      await count().catch(() => undefined);
    },
  };
}

const TEXTS = {
  slow: ({ window, fewest }: LoadBounds): string =>
    `The helpdesk answered fewer than ${fewest} times while the gateway waited ${told(window)} for it.`,
  long: ({ total }: LoadBounds): string => `Reading all records took longer than ${told(total)}.`,
};

const told = (seconds: number): string =>
  seconds % 3_600 === 0 ? `${seconds / 3_600} ${seconds === 3_600 ? 'hour' : 'hours'}` : `${seconds} s`;
