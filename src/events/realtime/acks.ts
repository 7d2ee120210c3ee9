import { Line } from '../../core/line.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { type Ack, storeAcks } from '../../store/events/realtime.ts';

/** Acknowledgements in one statement. */
const MOST = 200;

interface Waiting {
  readonly ack: Ack;
  readonly done: (stored: boolean) => void;
  readonly failed: (error: unknown) => void;
}

/** Stores acknowledgements in batches. Those that arrive during a statement share the next one, the apps in turn. */
export class Acks {
  readonly #db: Database;
  readonly #waiting = new Line<Waiting>();
  #under = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Resolves with false when the session has ended or belongs to another socket by now. */
  store(app: string, ack: Ack): Promise<boolean> {
    return new Promise((done, failed) => {
      this.#waiting.add(app, { ack, done, failed });
      if (!this.#under) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#under = true;
    while (!this.#waiting.empty) {
      const batch = this.#waiting.take(MOST);
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
