import type { Database } from '../../store/postgres.ts';
import { type Ack, storeAcks } from '../../store/realtime.ts';

/** Acknowledgements of one statement. */
const MOST = 200;

interface Waiting {
  readonly ack: Ack;
  readonly done: (stored: boolean) => void;
  readonly failed: (error: unknown) => void;
}

/** Stores acknowledgements, those that come while a statement is under way together with the next one. */
export class Acks {
  readonly #db: Database;
  #waiting: Waiting[] = [];
  #under = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Whether it was stored; not where the session's socket is another one by now, or the session is gone. */
  store(ack: Ack): Promise<boolean> {
    return new Promise((done, failed) => {
      this.#waiting.push({ ack, done, failed });
      if (!this.#under) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#under = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MOST);
      const [result] = await Promise.allSettled([
        storeAcks(
          this.#db,
          batch.map(({ ack }) => ack),
        ),
      ]);
      for (const { ack, done, failed } of batch) {
        if (result.status === 'fulfilled') done(result.value.has(ack));
        else failed(result.reason);
      }
    }
    this.#under = false;
  }
}
