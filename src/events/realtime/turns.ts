import { Failure } from '../../core/failures.ts';

interface Job {
  readonly wanted: () => boolean;
  readonly run: () => Promise<void>;
  readonly drop: () => void;
}

/** Work that waits for its turn: a few at a time, and the credentials one after the other, however much one of them has. */
export class Turns {
  readonly #together: number;
  /** What waits for each credential; the first of them is next. */
  readonly #waiting = new Map<string, Job[]>();
  #under = 0;

  constructor(together: number) {
    this.#together = together;
  }

  /** Rejects with `service_unavailable` where nobody wants it any more when its turn has come. */
  take<T>(credential: string, wanted: () => boolean, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const jobs = this.#waiting.get(credential) ?? [];
      jobs.push({
        wanted,
        run: () => work().then(resolve, reject),
        drop: () => reject(new Failure('service_unavailable')),
      });
      this.#waiting.set(credential, jobs);
      this.#next();
    });
  }

  #next(): void {
    while (this.#under < this.#together) {
      const [first] = this.#waiting;
      if (!first) return;
      const [credential, jobs] = first;
      const job = jobs.shift();
      this.#waiting.delete(credential);
      if (jobs.length > 0) this.#waiting.set(credential, jobs);
      if (job?.wanted() !== true) {
        job?.drop();
        continue;
      }
      this.#under++;
      void job.run().finally(() => {
        this.#under--;
        this.#next();
      });
    }
  }
}
