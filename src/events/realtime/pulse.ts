import type { Timings } from './wire.ts';

/**
 * Tells whether a client is alive. It keeps the time of the client's last frame, and whether the client owes a pong.
 */
export class Pulse {
  #heardAt = performance.now();
  #pingedAt = performance.now();
  #owed = false;

  heard(): void {
    this.#heardAt = performance.now();
  }

  /** Handles a pong. Returns true if the pong answers a ping of the gateway. Only one pong counts for each ping. */
  answered(): boolean {
    const owed = this.#owed;
    this.#owed = false;
    return owed;
  }

  /** Returns the next step: cut the socket or send a ping. Returns `undefined` if nothing is due. */
  due(now: number, { silence, heartbeat }: Timings): 'cut' | 'ping' | undefined {
    if (now - this.#heardAt > silence) return 'cut';
    if (now - this.#pingedAt < heartbeat) return undefined;
    this.#pingedAt = now;
    this.#owed = true;
    return 'ping';
  }
}
