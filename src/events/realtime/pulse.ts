import type { Timings } from './wire.ts';

/** Whether the client is there: when it was heard last, and whether it owes a pong. */
export class Pulse {
  #heardAt = performance.now();
  #pingedAt = performance.now();
  #owed = false;

  heard(): void {
    this.#heardAt = performance.now();
  }

  /** A pong came; whether it answers a ping of ours. One does for each ping. */
  answered(): boolean {
    const owed = this.#owed;
    this.#owed = false;
    return owed;
  }

  /** What is to be done now. */
  due(now: number, { silence, heartbeat }: Timings): 'cut' | 'ping' | undefined {
    if (now - this.#heardAt > silence) return 'cut';
    if (now - this.#pingedAt < heartbeat) return undefined;
    this.#pingedAt = now;
    this.#owed = true;
    return 'ping';
  }
}
