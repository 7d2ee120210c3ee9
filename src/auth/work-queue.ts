/** The queue is full, or the work had to leave the queue for a source with fewer waiters. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull';
}

interface Waiter {
  start(): void;
  refuse(): void;
}

/**
 * Runs a limited amount of work at once, with a queue of limited length. Sources of work take turns. When the queue is
 * full, the source with the most waiters loses its last waiter to a source with fewer waiters. So no source can fill
 * the queue and block the others.
 */
export class WorkQueue {
  readonly #atOnce: number;
  readonly #capacity: number;
  /** Waiting work by source. The first source in the Map has the next turn. */
  readonly #lines = new Map<string, Waiter[]>();
  #waiting = 0;
  #running = 0;

  constructor({ atOnce, waiting }: { atOnce: number; waiting: number }) {
    this.#atOnce = atOnce;
    this.#capacity = waiting;
  }

  /** Runs the work when its source has a turn. Rejects with QueueFull if the queue has no room for the work. */
  async run<T>(source: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await this.#turn(source);
    else this.#running++;
    try {
      return await work();
    } finally {
      // The next waiter takes over the slot directly. Otherwise new work could take the slot first.
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
   * Makes room for a new waiter of a source that already has `held` waiters. The source with the most waiters loses its
   * last waiter, if it has more than `held` + 1 waiters. Returns false if no source has so many.
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
