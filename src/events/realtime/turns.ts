import { Failure } from '../../core/failures.ts';
import { Line } from '../../core/line.ts';

interface Job {
  readonly wanted: () => boolean;
  readonly run: () => Promise<void>;
  readonly drop: () => void;
}

/** Whose work it is. */
export interface Worker {
  readonly appId: string;
  readonly credentialId: string;
}

/**
 * Work that waits for its turn: a few at a time. The apps have their turns one after the other, and so have the credentials
 * of an app, however much one of them has.
 */
export class Turns {
  readonly #together: number;
  readonly #each: number;
  /** An app once for each job that waits. */
  readonly #apps = new Line<string>();
  /** By app, the credentials in turn. */
  readonly #waiting = new Map<string, Line<Job>>();
  /** The app of each job under way. */
  readonly #under: string[] = [];

  /** At most `together` at a time, of one app at most `each`. */
  constructor(together: number, each = together) {
    this.#together = together;
    this.#each = each;
  }

  /** Rejects with `service_unavailable` where nobody wants it any more when its turn has come. */
  take<T>({ appId, credentialId }: Worker, wanted: () => boolean, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const jobs = this.#waiting.get(appId) ?? new Line<Job>();
      jobs.add(credentialId, {
        wanted,
        run: () => work().then(resolve, reject),
        drop: () => reject(new Failure('service_unavailable')),
      });
      this.#waiting.set(appId, jobs);
      this.#apps.add(appId, appId);
      this.#next();
    });
  }

  #next(): void {
    while (this.#under.length < this.#together) {
      const app = this.#apps.next((one) => this.#under.filter((other) => other === one).length < this.#each);
      if (app === undefined) return;
      const jobs = this.#waiting.get(app);
      const job = jobs?.next();
      if (jobs?.empty) this.#waiting.delete(app);
      if (job?.wanted() !== true) {
        job?.drop();
        continue;
      }
      this.#under.push(app);
      void job.run().finally(() => {
        this.#under.splice(this.#under.indexOf(app), 1);
        this.#next();
      });
    }
  }
}
