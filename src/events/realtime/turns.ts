import { Failure } from '../../core/failures.ts';
import { Line } from '../../core/line.ts';

interface Job {
  readonly wanted: () => boolean;
  readonly run: () => Promise<void>;
  readonly drop: () => void;
}

export interface Worker {
  readonly appId: string;
  readonly credentialId: string;
}

/**
 * Runs a few jobs at the same time, while other jobs wait. Apps take turns, and the credentials of one app take turns
 * too. So no app or credential can block the others.
 */
export class Turns {
  readonly #together: number;
  readonly #each: number;
  /** Apps with waiting jobs. An app appears once for each of its waiting jobs. */
  readonly #apps = new Line<string>();
  readonly #waiting = new Map<string, Line<Job>>();
  /** The apps of the running jobs. An app with two running jobs appears twice. */
  readonly #under: string[] = [];

  /**
   * `together` is the largest number of jobs that run at the same time. `each` is the largest number of running jobs of
   * one app.
   */
  constructor(together: number, each = together) {
    this.#together = together;
    this.#each = each;
  }

  /**
   * Runs work when it is the caller's turn. Rejects with `service_unavailable` if the caller then no longer wants the
   * work.
   */
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
