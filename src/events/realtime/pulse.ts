import type { Timings } from './wire.ts';

/** Whether a client is alive: by the time of its last frame and by its answers to pings. */
export class Pulse {
  #heardAt = performance.now();
  #pingedAt = performance.now();
  #owed = false;

  heard(): void {
    this.#heardAt = performance.now();
  }

  /** True if the pong answers a ping of the gateway. Each ping has one answer. */
  answered(): boolean {
    const owed = this.#owed;
    this.#owed = false;
    return owed;
  }

  due(now: number, { silence, heartbeat }: Timings): 'cut' | 'ping' | undefined {
    if (now - this.#heardAt > silence) return 'cut';
    if (now - this.#pingedAt < heartbeat) return undefined;
    this.#pingedAt = now;
    this.#owed = true;
    return 'ping';
  }
}
