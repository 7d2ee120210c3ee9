import { seldom } from '../flow/seldom.ts';

/** The event loop counts as held while its delay is longer than this many milliseconds. All requests wait meanwhile. */
const HELD = 250;
/** Milliseconds between two samples of the delay. */
const LOOK = 50;
/** The shortest time (ms) between two lines of the log. */
const QUIET = 10_000;

export interface LoopWatch {
  /** How long the event loop was held since the start, in seconds. */
  readonly seconds: number;
  stop(): void;
}

/**
 * Watches for delays of the event loop. `onHeld` gets the longest delay (ms) since its last call. A process that is
 * stopped, or gets no processor time, looks the same.
 */
export function watchLoop(onHeld: (milliseconds: number) => void): LoopWatch {
  let seconds = 0;
  let longest = 0;
  let due = performance.now() + LOOK;
  const tell = seldom(QUIET, () => {
    onHeld(Math.round(longest));
    longest = 0;
  });
  const timer = setInterval(() => {
    const now = performance.now();
    const late = now - due;
    due = now + LOOK;
    if (late > HELD) {
      seconds += late / 1_000;
      longest = Math.max(longest, late);
    }
    if (longest > 0) tell();
  }, LOOK).unref();
  return {
    get seconds() {
      return seconds;
    },
    stop: () => clearInterval(timer),
  };
}
