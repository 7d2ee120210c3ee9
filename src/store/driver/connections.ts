import type postgres from 'postgres';
import { Line } from '../../core/line.ts';

interface Connection {
  readonly driver: postgres.Sql;
  readonly madeAt: number;
  /** The app that has it, OWN for the gateway itself; `undefined`: nobody. */
  app: string | undefined;
  /** When its last statement ended. */
  givenAt: number;
  /** Statements that it has prepared. */
  readonly prepared: Set<string>;
}

/** One statement that has no connection yet. */
interface Waiting {
  readonly app: string;
  readonly resolve: (driver: postgres.Sql) => void;
  readonly reject: (error: Error) => void;
}

/** Milliseconds after which a connection is made anew, when it has nothing to do: a backend only grows. */
const LIFETIME = 45 * 60_000;
/**
 * Statements that a connection prepares before it is made anew. PostgreSQL keeps each for the life of the connection, about
 * 100 KB: one read credential made 4,096 of them by combining the filters of the conversations list, 416 MB in two backends
 * (22 November 2026). A gateway in honest use has some hundred.
 */
const PREPARED = 300;
/** Statements of one app that may wait, for each connection of the pool. */
const WAITING = 128;

/** Whose statements they are that no app has asked for: sign-in, webhooks, look-ups of tokens, upkeep, the command line. */
export const OWN = '';

/**
 * The connections of a pool, each of them a driver's own pool of one, and one statement at a time on each. The driver's
 * pool sends a statement after another one that has not been answered, where it waits for that one's locks; it looks for a
 * connection in a list that grows by one with each statement until all connections are busy at once (22 µs a statement
 * after 120,000); and what it keeps of a connection that was lost reaches the next one in its place.
 *
 * Apps share them: a connection that is free goes to the apps that wait in turn, and an app has at most half of them at a
 * time, rounded up. The gateway's own statements take turns as one more app does, but may have all: each is a look-up by
 * keys, and the command line has nobody beside it.
 */
export class Connections {
  readonly #connect: () => postgres.Sql;
  readonly #size: number;
  /** The last one used is the next one used: it knows the statements best. */
  readonly #idle: Connection[] = [];
  /** All of them. Who has one stands in it: a Map of those that are busy keeps garbage (core/line.ts). */
  readonly #living = new Map<postgres.Sql, Connection>();
  /** The apps in turn. */
  readonly #waiting = new Line<Waiting>();
  #restingUntil = 0;
  #closed = false;

  /** At most `size` connections, each made by `connect` when there is a statement for it. */
  constructor(size: number, connect: () => postgres.Sql) {
    this.#size = size;
    this.#connect = connect;
  }

  /** A connection that has nothing to do; `undefined`: none for this app now. Throws CONNECTION_ENDED after `close`. */
  take(app: string): postgres.Sql | undefined {
    if (this.#closed) throw ended();
    if (!this.#may(app)) return undefined;
    return this.#room ? this.#given(app) : undefined;
  }

  /** The next one when it is this app's turn; rejects with `late` after so many milliseconds, or at once in a full line. */
  wait(app: string, milliseconds: number, late: () => Error): Promise<postgres.Sql> {
    if (this.#waiting.of(app) >= WAITING * this.#size) return Promise.reject(late());
    return new Promise((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer);
        this.#waiting.remove(app, waiting);
      };
      const waiting: Waiting = {
        app,
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
      this.#waiting.add(app, waiting);
    });
  }

  /** Its statement of that text has ended; `undefined`: one that was not prepared. */
  give(driver: postgres.Sql, text?: string): void {
    const connection = this.#living.get(driver);
    if (connection?.app === undefined) return;
    connection.app = undefined;
    connection.givenAt = performance.now();
    if (text !== undefined) connection.prepared.add(text);
    const old = connection.givenAt - connection.madeAt > LIFETIME || connection.prepared.size > PREPARED;
    if (old) this.#end(driver);
    else this.#idle.push(connection);
    this.#next();
  }

  /** It was lost, and is not used again; nor are those that have nothing to do, if they have answered nothing `since`. */
  lose(driver: postgres.Sql, since = Number.POSITIVE_INFINITY): void {
    if (this.#living.get(driver)?.app === undefined) return;
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
    if (this.#living.get(driver)?.app !== undefined) this.#end(driver);
    this.#restingUntil = performance.now() + milliseconds;
    setTimeout(() => this.#next(), milliseconds + 1).unref();
    return this.#living.size > 0;
  }

  /** Whoever waits for a connection is told why there will be none. */
  refuse(error: Error): void {
    for (const waiting of this.#waiting.all()) waiting.reject(error);
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

  /** Whether one is idle or can be made. */
  get #room(): boolean {
    if (this.#idle.length > 0) return true;
    return this.#living.size < this.#size && performance.now() >= this.#restingUntil;
  }

  #given(app: string): postgres.Sql {
    const connection = this.#idle.pop() ?? this.#made();
    connection.app = app;
    return connection.driver;
  }

  #made(): Connection {
    const now = performance.now();
    const connection = {
      driver: this.#connect(),
      madeAt: now,
      app: undefined,
      givenAt: now,
      prepared: new Set<string>(),
    };
    this.#living.set(connection.driver, connection);
    return connection;
  }

  /** Nothing runs on it that anybody waits for, and it has nothing left to say. */
  #end(driver: postgres.Sql): void {
    this.#living.delete(driver);
    void driver.end({ timeout: 0 }).catch(() => undefined);
  }

  /** Whether the app has less than its share. */
  #may(app: string): boolean {
    if (app === OWN) return true;
    let held = 0;
    for (const connection of this.#living.values()) if (connection.app === app) held++;
    return held < Math.ceil(this.#size / 2);
  }

  #next(): void {
    while (!this.#closed && this.#room) {
      const first = this.#waiting.next((app) => this.#may(app));
      if (!first) return;
      first.resolve(this.#given(first.app));
    }
  }
}

const ended = (): Error => Object.assign(new Error('the pool has ended'), { code: 'CONNECTION_ENDED' });
