import type postgres from 'postgres';

interface Connection {
  readonly driver: postgres.Sql;
  readonly madeAt: number;
  busy: boolean;
  /** When its last statement ended. */
  givenAt: number;
}

/** One statement that has no connection yet. */
interface Waiting {
  readonly resolve: (driver: postgres.Sql) => void;
  readonly reject: (error: Error) => void;
}

/** Milliseconds after which a connection is made anew, when it has nothing to do: a backend only grows. */
const LIFETIME = 45 * 60_000;

/**
 * The connections of a pool, each of them a driver's own pool of one, and one statement at a time on each. The driver's
 * pool sends a statement after another one that has not been answered, where it waits for that one's locks; it looks for a
 * connection in a list that grows by one with each statement until all connections are busy at once (22 µs a statement
 * after 120,000); and what it keeps of a connection that was lost reaches the next one in its place.
 */
export class Connections {
  readonly #connect: () => postgres.Sql;
  readonly #size: number;
  /** The last one used is the next one used: it knows the statements best. */
  readonly #idle: Connection[] = [];
  /** All of them. Whether one is busy stands in it: a Map of those that are keeps garbage (surfaces/http/under-way.ts). */
  readonly #living = new Map<postgres.Sql, Connection>();
  /** In the order of asking. */
  readonly #waiting: Waiting[] = [];
  #restingUntil = 0;
  #closed = false;

  /** At most `size` connections, each made by `connect` when there is a statement for it. */
  constructor(size: number, connect: () => postgres.Sql) {
    this.#size = size;
    this.#connect = connect;
  }

  /** A connection that has nothing to do; `undefined`: there is none now. Throws CONNECTION_ENDED after `close`. */
  take(): postgres.Sql | undefined {
    if (this.#closed) throw ended();
    const connection = this.#idle.pop() ?? this.#made();
    if (connection) connection.busy = true;
    return connection?.driver;
  }

  /** The next one that has nothing to do, in the order of asking; rejects with `late` after so many milliseconds. */
  wait(milliseconds: number, late: () => Error): Promise<postgres.Sql> {
    return new Promise((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer);
        const at = this.#waiting.indexOf(waiting); // mostly the first
        if (at >= 0) this.#waiting.splice(at, 1);
      };
      const waiting: Waiting = {
        resolve: (driver) => {
          over();
          resolve(driver);
        },
        reject: (error) => {
          over();
          reject(error);
        },
      };
      // An answer that lies in the socket of a busy process is read first.
      const timer = setTimeout(() => setImmediate(() => waiting.reject(late())), milliseconds);
      this.#waiting.push(waiting);
    });
  }

  /** Its statement has ended. */
  give(driver: postgres.Sql): void {
    const connection = this.#living.get(driver);
    if (!connection?.busy) return;
    connection.busy = false;
    connection.givenAt = performance.now();
    if (connection.givenAt - connection.madeAt > LIFETIME) this.#end(driver);
    else this.#idle.push(connection);
    this.#next();
  }

  /** It was lost, and is not used again; nor are those that have nothing to do, if they have answered nothing `since`. */
  lose(driver: postgres.Sql, since = Number.POSITIVE_INFINITY): void {
    if (!this.#living.get(driver)?.busy) return;
    this.#end(driver);
    const [kept, lost] = [
      this.#idle.filter(({ givenAt }) => givenAt >= since),
      this.#idle.filter(({ givenAt }) => givenAt < since),
    ];
    this.#idle.splice(0, this.#idle.length, ...kept);
    for (const one of lost) this.#end(one.driver);
    this.#next();
  }

  /** None came about: for so many milliseconds no other is tried. Returns whether there are others. */
  rest(driver: postgres.Sql, milliseconds: number): boolean {
    if (this.#living.get(driver)?.busy) this.#end(driver);
    this.#restingUntil = performance.now() + milliseconds;
    setTimeout(() => this.#next(), milliseconds + 1).unref();
    return this.#living.size > 0;
  }

  /** Whoever waits for a connection is told why there will be none. */
  refuse(error: Error): void {
    for (const waiting of [...this.#waiting]) waiting.reject(error);
  }

  /** What runs has `seconds` to end. */
  async close(seconds: number): Promise<void> {
    this.#closed = true;
    this.refuse(ended());
    this.#idle.splice(0);
    const living = [...this.#living.keys()];
    this.#living.clear();
    await Promise.all(living.map((driver) => driver.end({ timeout: seconds })));
  }

  #made(): Connection | undefined {
    const now = performance.now();
    if (this.#living.size - this.#idle.length >= this.#size || now < this.#restingUntil) return undefined;
    const connection = { driver: this.#connect(), madeAt: now, busy: true, givenAt: now };
    this.#living.set(connection.driver, connection);
    return connection;
  }

  /** Nothing runs on it that anybody waits for, and it has nothing left to say. */
  #end(driver: postgres.Sql): void {
    this.#living.delete(driver);
    void driver.end({ timeout: 0 }).catch(() => undefined);
  }

  #next(): void {
    while (!this.#closed) {
      const [first] = this.#waiting;
      const driver = first && this.take();
      if (!driver) return;
      first.resolve(driver);
    }
  }
}

const ended = (): Error => Object.assign(new Error('the pool has ended'), { code: 'CONNECTION_ENDED' });
