/** A delay of the event loop that is longer than this many milliseconds counts as held. All callers wait during it. */
const HELD = 250;
/** Milliseconds between two looks. */
const LOOK = 50;
/** The log gets at most one line in this many milliseconds. */
const QUIET = 10_000;

export interface LoopWatch {
  /** Seconds by which the event loop was late since the start, in delays that count as held. */
  readonly seconds: number;
  stop(): void;
}

/**
 * Watches whether something holds the event loop. `onHeld` gets the longest delay since its last call, in milliseconds.
 * A process that is stopped, or that gets no processor time, looks the same.
 */
export function watchLoop(onHeld: (milliseconds: number) => void): LoopWatch {
  let seconds = 0;
  let longest = 0;
  let due = performance.now() + LOOK;
  let quietUntil = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    const late = now - due;
    due = now + LOOK;
    if (late > HELD) {
      seconds += late / 1_000;
      longest = Math.max(longest, late);
    }
    if (longest === 0 || now < quietUntil) return;
    quietUntil = now + QUIET;
    onHeld(Math.round(longest));
    longest = 0;
  }, LOOK).unref();
  return {
    get seconds() {
      return seconds;
    },
    stop: () => clearInterval(timer),
  };
}
