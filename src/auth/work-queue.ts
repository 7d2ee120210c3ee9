/** A job was refused because the queue is full, or because a job of a source with fewer waiting jobs took its place. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull';
}

interface Waiter {
  start(): void;
  refuse(): void;
}

/**
 * Runs a limited number of jobs at the same time, and lets a limited number of jobs wait. The sources of the jobs take
 * turns. When the queue is full, a new job can take the place of the last job of the busiest source. So no source can
 * block the others.
 */
export class WorkQueue {
  readonly #atOnce: number;
  readonly #capacity: number;
  /** The waiting jobs of each source. The first source in this Map has the next turn. */
  readonly #lines = new Map<string, Waiter[]>();
  #waiting = 0;
  #running = 0;

  constructor({ atOnce, waiting }: { atOnce: number; waiting: number }) {
    this.#atOnce = atOnce;
    this.#capacity = waiting;
  }

  async run<T>(source: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await this.#turn(source);
    else this.#running++;
    try {
      return await work();
    } finally {
      // Start the next waiting job directly. Otherwise a new job could start before the waiting job.
      if (!this.#next()) this.#running--;
    }
  }

  #turn(source: string): Promise<void> {
    const line = this.#lines.get(source) ?? [];
    if (this.#waiting >= this.#capacity && !this.#madeRoom(line.length)) return Promise.reject(new QueueFull());
    return new Promise((resolve, reject) => {
      line.push({ start: resolve, refuse: () => reject(new QueueFull()) });
      this.#lines.set(source, line);
      this.#waiting++;
    });
  }

  /**
   * Makes room in a full queue for a source that already has `held` waiting jobs. Removes the last job of the source
   * with the most waiting jobs. Returns false if no source has more than `held` + 1 waiting jobs.
   */
  #madeRoom(held: number): boolean {
    const [source, line] = [...this.#lines].reduce((one, other) => (other[1].length > one[1].length ? other : one));
    if (line.length <= held + 1) return false;
    line.pop()?.refuse();
    if (line.length === 0) this.#lines.delete(source);
    this.#waiting--;
    return true;
  }

  #next(): boolean {
    const [first] = this.#lines;
    if (!first) return false;
    const [source, line] = first;
    this.#lines.delete(source);
    const waiter = line.shift();
    if (line.length > 0) this.#lines.set(source, line);
    this.#waiting--;
    waiter?.start();
    return true;
  }
}
