import type postgres from 'postgres';
import { Line } from '../../core/line.ts';

interface Connection {
  readonly driver: postgres.Sql;
  readonly madeAt: number;
  /** The app that uses the connection; OWN for the gateway itself; `undefined` when nobody uses it. */
  app: string | undefined;
  /** When the last statement on it ended. */
  givenAt: number;
  /** Texts of the statements that it has prepared. */
  readonly prepared: Set<string>;
}

/** A statement that waits for a connection. */
interface Waiting {
  readonly app: string;
  readonly resolve: (driver: postgres.Sql) => void;
  readonly reject: (error: Error) => void;
}

/** Milliseconds after which an idle connection is replaced, because the memory of a PostgreSQL backend only grows. */
const LIFETIME = 45 * 60_000;
/**
 * A connection that has prepared more statements than this is replaced. PostgreSQL keeps each one for the life of the
 * connection, about 100 KB. One read credential made 4,096 of them by combining the filters of the conversations list:
 * 416 MB in two backends (22 November 2026). A gateway in normal use has some hundred.
 */
const PREPARED = 300;
/** Statements of one app that may wait, for each connection of the pool. */
const WAITING = 128;

/** The app name of the gateway's own statements: sign-in, webhooks, token look-ups, upkeep, the command line. */
export const OWN = '';

/**
 * The connections of a pool. Each is a driver pool of size one and runs one statement at a time. The driver's own pool
 * is not used, for three reasons:
 * - It sends a statement on a connection whose last statement is unanswered, so it can wait for that statement's locks.
 * - Its list of connections grows by one with each statement until all connections are busy at once (22 µs a statement
 *   after 120,000).
 * - It hands the state of a lost connection to the next one.
 *
 * Apps share the connections: a free one goes to the waiting apps in turn. An app holds at most half of them, rounded
 * up. The gateway's own statements take turns like an app, but may hold all: each is a look-up by key. The command
 * line has the pool to itself.
 */
export class Connections {
  readonly #connect: () => postgres.Sql;
  readonly #size: number;
  /** The connection used last is used next: it has prepared the most statements. */
  readonly #idle: Connection[] = [];
  /** All connections. Each names its user itself, because a Map of the busy ones would keep garbage (core/line.ts). */
  readonly #living = new Map<postgres.Sql, Connection>();
  readonly #waiting = new Line<Waiting>();
  #restingUntil = 0;
  #closed = false;

  /** Opens at most `size` connections with `connect`, each when a statement needs it. */
  constructor(size: number, connect: () => postgres.Sql) {
    this.#size = size;
    this.#connect = connect;
  }

  /** An idle or new connection; `undefined` when this app can have none now. Throws CONNECTION_ENDED after `close`. */
  take(app: string): postgres.Sql | undefined {
    if (this.#closed) throw ended();
    if (!this.#may(app)) return undefined;
    return this.#room ? this.#given(app) : undefined;
  }

  /**
   * A connection when this app's turn comes. Rejects with `late` after `milliseconds`, or at once when the line is
   * full.
   */
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
      // A busy process may not have read the answer from its socket yet: read it before the time-out counts.
      const timer = setTimeout(() => setImmediate(() => waiting.reject(late())), milliseconds);
      this.#waiting.add(app, waiting);
    });
  }

  /** Takes a connection back. `text` is the prepared statement that ran; `undefined` for one that was not prepared. */
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

  /** Drops a lost connection, and every idle one that has answered nothing since `since`. */
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

  /**
   * A connection could not be opened: opens no other for `milliseconds`. Returns whether other connections are open.
   */
  rest(driver: postgres.Sql, milliseconds: number): boolean {
    if (this.#living.get(driver)?.app !== undefined) this.#end(driver);
    this.#restingUntil = performance.now() + milliseconds;
    setTimeout(() => this.#next(), milliseconds + 1).unref();
    return this.#living.size > 0;
  }

  /** Rejects every waiting statement. */
  refuse(error: Error): void {
    for (const waiting of this.#waiting.all()) waiting.reject(error);
  }

  /** Running statements have `seconds` to end. */
  async close(seconds: number): Promise<void> {
    this.#closed = true;
    this.refuse(ended());
    this.#idle.splice(0);
    const living = [...this.#living.keys()];
    this.#living.clear();
    await Promise.all(living.map((driver) => driver.end({ timeout: seconds })));
  }

  /** Whether a connection is idle or can be opened. */
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

  /** Nobody waits for an answer on it, so it is closed at once. */
  #end(driver: postgres.Sql): void {
    this.#living.delete(driver);
    void driver.end({ timeout: 0 }).catch(() => undefined);
  }

  /** Whether the app holds less than its share. */
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
