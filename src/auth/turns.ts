/** Raised where there is no room: none was, or it went to somebody who had less of it. */
export class NoTurn extends Error {
  override readonly name = 'NoTurn';
}

interface Waiter {
  start(): void;
  refuse(): void;
}

/**
 * Work of which so much is done at once while so many wait. Sources take turns, and where all places are taken, the one who
 * waits with the most gives one up to a source that has less: nobody fills it against others.
 */
export class Turns {
  readonly #atOnce: number;
  readonly #places: number;
  /** Who waits, by source; the first source is the next. */
  readonly #lines = new Map<string, Waiter[]>();
  #waiting = 0;
  #running = 0;

  constructor({ atOnce, waiting }: { atOnce: number; waiting: number }) {
    this.#atOnce = atOnce;
    this.#places = waiting;
  }

  /** Does the work when it is the source's turn. Rejects with NoTurn. */
  async run<T>(source: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await this.#turn(source);
    else this.#running++;
    try {
      return await work();
    } finally {
      // Handed on without being given back, so that nobody comes in between.
      if (!this.#next()) this.#running--;
    }
  }

  #turn(source: string): Promise<void> {
    const line = this.#lines.get(source) ?? [];
    if (this.#waiting >= this.#places && !this.#madeRoom(line.length)) return Promise.reject(new NoTurn());
    return new Promise((resolve, reject) => {
      line.push({ start: resolve, refuse: () => reject(new NoTurn()) });
      this.#lines.set(source, line);
      this.#waiting++;
    });
  }

  /** Whether somebody with more places than `held` and the new one has given up the last of them. */
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
