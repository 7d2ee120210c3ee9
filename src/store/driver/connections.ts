import type postgres from 'postgres';
import { FairQueue } from '../../flow/fair-queue.ts';

interface PooledConnection {
  readonly driver: postgres.Sql;
  readonly madeAt: number;
  /** The app that uses the connection. OWN: the gateway itself uses it. `undefined`: the connection is idle. */
  app: string | undefined;
  /** When the last statement on the connection ended, in milliseconds of `performance.now()`. */
  givenAt: number;
  readonly prepared: Set<string>;
}

interface ConnectionRequest {
  readonly app: string;
  readonly resolve: (driver: postgres.Sql) => void;
  readonly reject: (error: Error) => void;
}

/** Milliseconds after which a connection is replaced, because the memory of a PostgreSQL backend only grows. */
const LIFETIME = 45 * 60_000;
/**
 * A connection is replaced after this many prepared statements. PostgreSQL keeps each prepared statement, about 100 KB,
 * until the connection ends. For example, the conversations list needs a prepared statement for each combination of
 * filters. One read credential made 4,096 prepared statements in this way, which took 416 MB in two backends (22
 * November 2026). A gateway in normal use has some hundred prepared statements.
 */
const PREPARED = 300;
/** How many reads of one app can wait, and how many changes, for each connection. With 4 connections, 512 of each. */
export const WAITING = 128;

/** The app name for the gateway's own statements: tokens of OAuth clients, webhooks, upkeep and the command line. */
export const OWN = '';

/**
 * Milliseconds that a statement of the gateway's own store waits while no server has taken a connection of its pool. All
 * pools share the attempts to connect, so without a server a pool can wait long for its turn. The documents promise a
 * 503 within 3 s.
 */
export const WITHOUT_SERVER = 1_000;

/** Milliseconds that a statement may go on at a server that was left. Fast ones have their own, shorter limits. */
const LASTS = 3_000;

const CHANGES = ' changes';

/**
 * The queue for an app's changes to the gateway's own tables, such as quota and tasks. In the queue of reads, they
 * would wait for slow reads. An app holds at most one connection for changes, and each change is short.
 */
export const changesOf = (app: string): string => app + CHANGES;

/**
 * The connections of a pool to PostgreSQL. Each connection is a driver pool of size one and runs one statement at a
 * time. The driver's own pool is not used, for three reasons:
 *
 * - The driver's pool sends a statement on a connection whose last statement has no answer yet. So the new statement
 *   can wait for locks of the last statement.
 * - The driver's list of connections grows by one with each statement until all connections are busy at once. After
 *   120,000 statements this costs 22 µs a statement.
 * - The driver's pool gives the state of a lost connection to the next connection.
 *
 * Apps share the connections. The waiting apps take turns, and the next app gets the next idle connection. A person in
 * the console counts as an app, and so does the network that opens a page. An app holds at most half of the connections,
 * rounded up, and one more for its changes. The gateway's own statements take turns like an app, but they can hold all
 * connections, because each is a look-up by key. The pool of the command line serves no apps.
 */
export class Connections {
  readonly #connect: () => postgres.Sql;
  readonly #hangUp: (driver: postgres.Sql) => void;
  readonly #size: number;
  /** The connection that was used last is used next, because this connection has prepared the most statements. */
  readonly #idle: PooledConnection[] = [];
  /**
   * All connections, idle and busy. Each entry names the app that uses the connection. A second Map for busy
   * connections would leave garbage in memory (flow/fair-queue.ts).
   */
  readonly #living = new Map<postgres.Sql, PooledConnection>();
  readonly #waiting = new FairQueue<ConnectionRequest>();
  /** Milliseconds until a new connection may be made, or until `freed` is called (driver/attempts.ts). */
  readonly #mustWait: (freed: () => void) => number;
  readonly #freed = (): void => this.#next();
  #restingUntil = 0;
  #renewedAt = 0;
  #wake: NodeJS.Timeout | undefined;
  readonly #withoutServer: number;
  #closed = false;

  constructor(
    size: number,
    connect: () => postgres.Sql,
    hangUp: (driver: postgres.Sql) => void,
    mustWait: (freed: () => void) => number,
    withoutServer = Number.POSITIVE_INFINITY,
  ) {
    this.#size = size;
    this.#withoutServer = withoutServer;
    this.#connect = connect;
    this.#hangUp = hangUp;
    this.#mustWait = mustWait;
  }

  /** An idle or a new connection, or `undefined` if the app must wait. Throws CONNECTION_ENDED after `close`. */
  take(app: string): postgres.Sql | undefined {
    if (this.#closed) throw ended();
    if (!this.#may(app)) return undefined;
    return this.#room ? this.#given(app) : undefined;
  }

  /**
   * A connection when it is the app's turn. Rejects with `late` after `milliseconds`, or at once if too many wait.
   * Rejects earlier while no server has taken a connection of this pool.
   */
  wait(app: string, milliseconds: number, late: () => Error): Promise<postgres.Sql> {
    if (this.#waiting.of(app) >= WAITING * this.#size) return Promise.reject(late());
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      let isOver = false;
      const over = (): void => {
        isOver = true;
        clearTimeout(timer);
        this.#waiting.remove(app, waiting);
      };
      const waiting: ConnectionRequest = {
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
      // A busy process reads its sockets late. Read once more before the time-out counts: the answer may be there.
      const after = (time: number, what: () => void): void => {
        timer = setTimeout(() => setImmediate(() => isOver || what()), time);
      };
      const overdue = (): void => waiting.reject(late());
      const first = Math.min(milliseconds, this.#withoutServer);
      after(first, () => (first < milliseconds && this.#answers ? after(milliseconds - first, overdue) : overdue()));
      this.#waiting.add(app, waiting);
    });
  }

  /** Takes a connection back after its statement. `text` is the SQL text if it was prepared. */
  give(driver: postgres.Sql, text?: string): void {
    const connection = this.#living.get(driver);
    if (connection?.app === undefined) return;
    connection.app = undefined;
    connection.givenAt = performance.now();
    if (text !== undefined) connection.prepared.add(text);
    const old =
      connection.madeAt < this.#renewedAt ||
      connection.givenAt - connection.madeAt > LIFETIME ||
      connection.prepared.size > PREPARED;
    if (old) this.#end(driver);
    else this.#idle.push(connection);
    this.#next();
  }

  /** Closes a lost connection. Also closes every idle connection whose last answer came before `since`. */
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
   * Removes an idle connection that the server has ended. The driver would reconnect at its next statement, and nothing
   * would limit these attempts.
   */
  ended(driver: postgres.Sql): void {
    const at = this.#idle.findIndex((one) => one.driver === driver);
    if (at < 0) return;
    this.#idle.splice(at, 1);
    this.#end(driver);
  }

  /**
   * Closes all connections that are open now, the busy ones after their statements. A statement that lasts is cut off: at a
   * primary that was replaced, a commit waits for a standby that never comes back, and its late success would be lost.
   */
  renew(): void {
    const renewedAt = performance.now();
    this.#renewedAt = renewedAt;
    for (const { driver } of this.#idle.splice(0)) this.#end(driver);
    this.#next();
    const cut = (): void => {
      for (const [driver, { app, madeAt }] of this.#living)
        if (app !== undefined && madeAt < renewedAt) this.#hangUp(driver);
    };
    setTimeout(cut, LASTS).unref();
  }

  /** Opens no connections for the next `milliseconds`, because one could not be opened. True if others are open. */
  rest(driver: postgres.Sql, milliseconds: number): boolean {
    if (this.#living.get(driver)?.app !== undefined) this.#end(driver);
    this.#restingUntil = performance.now() + milliseconds;
    this.#wakeIn(milliseconds);
    return this.#living.size > 0;
  }

  refuse(error: Error): void {
    for (const waiting of this.#waiting.all()) waiting.reject(error);
  }

  async close(seconds: number): Promise<void> {
    this.#closed = true;
    this.refuse(ended());
    this.#idle.splice(0);
    const living = [...this.#living.keys()];
    this.#living.clear();
    await Promise.all(living.map((driver) => driver.end({ timeout: seconds }).finally(() => this.#hangUp(driver))));
  }

  /** Whether a server has taken a connection of this pool. It then has told its version. */
  get #answers(): boolean {
    return [...this.#living.keys()].some(({ parameters }) => parameters['server_version'] !== undefined);
  }

  get #room(): boolean {
    if (this.#idle.length > 0) return true;
    if (this.#living.size >= this.#size) return false;
    const wait = Math.max(this.#restingUntil - performance.now(), this.#mustWait(this.#freed));
    if (wait > 0) this.#wakeIn(wait);
    return wait <= 0;
  }

  /** Lets waiting statements try again after this time, if nothing else does so earlier. */
  #wakeIn(milliseconds: number): void {
    clearTimeout(this.#wake);
    this.#wake = setTimeout(this.#freed, Math.ceil(milliseconds) + 1).unref();
  }

  #given(app: string): postgres.Sql {
    const connection = this.#idle.pop() ?? this.#made();
    connection.app = app;
    return connection.driver;
  }

  #made(): PooledConnection {
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

  #end(driver: postgres.Sql): void {
    this.#living.delete(driver);
    void driver.end({ timeout: 0 }).catch(() => undefined);
    this.#hangUp(driver);
  }

  #may(app: string): boolean {
    if (app === OWN) return true;
    let held = 0;
    for (const connection of this.#living.values()) if (connection.app === app) held++;
    return held < (app.endsWith(CHANGES) ? 1 : Math.ceil(this.#size / 2));
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
