import type { Timings } from './wire.ts';

/** Tells whether the client is alive: the time of its last frame, and whether it owes a pong. */
export class Pulse {
  #heardAt = performance.now();
  #pingedAt = performance.now();
  #owed = false;

  heard(): void {
    this.#heardAt = performance.now();
  }

  /** Handles a pong. Returns whether it answers a ping of the gateway. Only one pong counts for each ping. */
  answered(): boolean {
    const owed = this.#owed;
    this.#owed = false;
    return owed;
  }

  /** Returns the next step, if there is one. */
  due(now: number, { silence, heartbeat }: Timings): 'cut' | 'ping' | undefined {
    if (now - this.#heardAt > silence) return 'cut';
    if (now - this.#pingedAt < heartbeat) return undefined;
    this.#pingedAt = now;
    this.#owed = true;
    return 'ping';
  }
}
