import postgres from 'postgres';
import type { Fragment } from '../../core/sql.ts';
import { Attempts, type Dial, OF_THE_STORE } from './attempts.ts';
import { Connections, OWN } from './connections.ts';
import {
  atStandby,
  DOWN,
  late,
  mayRepeat,
  ON_STANDBY,
  QUEUED,
  READ_ONLY,
  REFUSED,
  SILENT,
  StoreUnreachable,
  sqlState,
  UNREACHABLE,
} from './errors.ts';
import { foreign } from './foreign.ts';
import { type Heard, type Listening, listenOn } from './listen.ts';
import { type ConnectOptions, sessionSettings } from './settings.ts';
import { collecting, openStatements, type Sent } from './statement.ts';
import { AS_TEXT, PARSED } from './types.ts';

/**
 * The only access to PostgreSQL. Every call is ONE statement, which PostgreSQL runs atomically. The gateway uses no
 * transaction, no reserved connection and no COPY, because the driver (`postgres` 3.4.9) has two defects. After a lost
 * connection, the driver can commit the rest of a transaction on another connection. When the server dies inside a
 * transaction, the driver can end the process.
 */
export interface Database {
  /** Runs one statement, prepared once on each connection, in the app's turn and share of the connections. */
  query<Row extends object>(statement: Fragment): Promise<Row[]>;
  /** Like `query`, for statements that change nothing. If the connection is lost, sends the statement once more. */
  read<Row extends object>(statement: Fragment): Promise<Row[]>;
  /** Runs an SQL script with the simple query protocol: one implicit transaction, without parameters. */
  script(text: string): Promise<void>;
  /**
   * Listens to a channel on a separate connection, which is opened again when it is lost. `heard` gets the payload of
   * each notification. `heard` gets '' each time that listening starts. The caller must then look for changes itself,
   * because notifications may have been lost. Nothing may depend on a notification.
   */
  listen(channel: string, heard: (payload: string) => void): Listening;
  close(): Promise<void>;
}

/** Milliseconds to wait for an answer after PostgreSQL should have cancelled the statement. */
const GRACE = 500;
/** Milliseconds until the next attempt when the server is down or has no free connection. */
const BACKOFF = 250;

/** The socket folder, if it is the host of the address (`%2Ftmp%2Fpg`, as in libpq), which the driver cannot read. */
function socketOf(address: string): { host?: string } {
  const host = decodeURIComponent(new URL(address).hostname);
  return host.startsWith('/') ? { host } : {};
}

export function openDatabase(options: ConnectOptions): Database {
  const { target, direct } = options;
  const theirs = options.foreign === true && typeof target === 'string' ? foreign(target) : undefined;
  const shared: postgres.Options<Record<string, postgres.PostgresType>> = {
    max: 1,
    // The driver would wait up to 20 s between attempts. A caller needs its 503 at once, and its data soon after a
    // restart.
    backoff: () => 0,
    // Shorter than a caller's wait. Otherwise a connection lost in its TLS handshake would stay open and unused.
    connect_timeout: Math.min(5, options.statementTimeout / 1000),
    // The class Connections replaces old connections, so the driver does not.
    max_lifetime: null,
    onnotice: () => undefined,
    // Off, because nobody catches a failure of this look-up: if a backend ends during it, the process ends. The gateway
    // knows its array types.
    fetch_types: false,
    types: options.foreign === true ? AS_TEXT : PARSED,
    connection: sessionSettings(options),
    ...(theirs && { ssl: theirs.ssl }),
  };
  const prepare = direct === undefined || (typeof target === 'string' && /[?&]prepare=true\b/.test(target));
  const attempts = options.primary === true ? OF_THE_STORE : new Attempts();
  const dials = new WeakMap<postgres.Sql, Dial>();
  const connect = (): postgres.Sql => {
    const dial = attempts.dial(theirs?.socket);
    const onclose = (): void => connections.ended(driver);
    const own = { ...shared, prepare, socket: dial.socket, onclose };
    const driver: postgres.Sql =
      typeof target === 'string' ? postgres(target, { ...own, ...socketOf(target) }) : postgres({ ...own, ...target });
    dials.set(driver, dial);
    return driver;
  };
  const connectListener = (events: Heard): postgres.Sql => {
    const connection = sessionSettings({ ...options, direct: undefined });
    const own = { ...shared, connection, socket: attempts.dial(theirs?.socket).socket, ...events };
    const server = direct ?? target;
    return typeof server === 'string'
      ? postgres(server, { ...own, ...socketOf(server) })
      : postgres({ ...own, ...server });
  };
  const listeners = new Set<Listening>();
  const statementOf = openStatements();
  const connections = new Connections(options.connections, connect, (freed) => attempts.wait(freed));
  // After a refusal, all statements fail at once until this time, so that a starting server gets no more attempts.
  let downUntil = 0;
  let downBy: unknown;
  const limit = options.statementTimeout + GRACE;

  const unreachable = (cause: unknown): StoreUnreachable =>
    new StoreUnreachable('the store cannot be reached', { cause });
  const asOurs = (error: unknown): unknown => (UNREACHABLE.test(sqlState(error)) ? unreachable(error) : error);

  /** Fails all waiting statements, and those of the next BACKOFF milliseconds. The server would refuse them. */
  const down = (error: unknown): void => {
    downUntil = performance.now() + BACKOFF;
    downBy = error;
    connections.refuse(unreachable(error));
  };

  /**
   * Returns the connection of a failed statement to the pool if the server itself refused it. Else closes the
   * connection.
   */
  const giveBack = (used: postgres.Sql, error: unknown): void => {
    const state = sqlState(error);
    if (DOWN.test(state)) down(error);
    if (REFUSED.test(state)) {
      if (!connections.rest(used, BACKOFF)) down(error);
    } else if (UNREACHABLE.test(state) || ON_STANDBY.test(state) || !(error instanceof postgres.PostgresError))
      connections.lose(used);
    else {
      dials.get(used)?.answered();
      // Reconnect, to find out whether the server is still read-only. The idle connections stay.
      if (READ_ONLY.test(state)) connections.lose(used, Number.NEGATIVE_INFINITY);
      else connections.give(used);
    }
  };

  /**
   * Rejects the answer of a standby. A standby can be any time behind, so a revoked token can still be valid there.
   * PostgreSQL reports to each new connection whether the server is a standby, and reports a change before its next
   * answer. A pooler can keep an old report. So behind a pooler, the guard of the statement asks
   * (store/calls/guard.ts).
   */
  const requireAnswer = (used: postgres.Sql): void => {
    if (options.primary === true && direct === undefined && used.parameters['in_hot_standby'] === 'on')
      throw atStandby();
    dials.get(used)?.answered();
  };

  /**
   * Waits for a connection. Returns the connection and the milliseconds that are left for the statement. The wait
   * leaves a quarter of the limit for the statement, but at least one second. If the limit is shorter than two seconds,
   * the wait leaves half of the limit. So under overload, no statement starts just before its caller gives up.
   */
  const turn = async (app: string): Promise<readonly [postgres.Sql, number]> => {
    const began = performance.now();
    const own = Math.min(limit / 2, Math.max(1_000, limit / 4));
    const used = await connections.wait(app, limit - own, () => late(QUEUED));
    return [used, Math.max(1, began + limit - performance.now())];
  };

  /**
   * Runs a statement, and drops the connection when no answer comes in time. PostgreSQL normally ends the statement at
   * its time-out. This function waits half a second longer. After this wait, the server counts as silent.
   *
   * The statement may still run afterwards. The gateway cannot cancel the statement, because the driver's cancel can
   * end the process or cancel the next statement. So a caller that repeats a write must repeat its idempotency key.
   */
  const inTime = <Row extends object>(used: postgres.Sql, left: number, { text, parameters }: Sent): Promise<Row[]> =>
    new Promise((resolve, reject) => {
      const began = performance.now();
      let timer: NodeJS.Timeout | undefined;
      let over = false;
      const after = (milliseconds: number, what: () => void): void => {
        // A busy process reads its sockets late. Read once more before the time-out counts: the answer may be there.
        timer = setTimeout(() => setImmediate(() => over || what()), milliseconds);
      };
      const silent = (): void => {
        connections.lose(used, began);
        reject(late(SILENT));
      };
      // The caller has waited long enough and gets an error. The connection is silent only after the full limit.
      const impatient = (): void => {
        reject(late(QUEUED));
        after(limit - left, silent);
      };
      after(left, left === limit ? silent : impatient);
      const ended = (): void => {
        over = true;
        clearTimeout(timer);
      };
      const rows = collecting<Row>();
      // The caller declares the type of the rows. A golden schema and the checks of outputs verify it.
      const statement = used.unsafe<Row[]>(text, parameters, { prepare });
      const answer = statement.forEach(rows.add).then(() => requireAnswer(used));
      answer.then(
        () => {
          ended();
          resolve(rows.taken());
          connections.give(used, prepare ? text : undefined);
        },
        (error: unknown) => {
          ended();
          rows.taken();
          reject(error);
          giveBack(used, error);
        },
      );
    });

  const query = async <Row extends object>(statement: Fragment): Promise<Row[]> => {
    const sent = statementOf(statement);
    const { app = OWN } = statement;
    if (performance.now() < downUntil) throw unreachable(downBy);
    try {
      const free = connections.take(app);
      const [used, left] = free ? [free, limit] : await turn(app);
      return await inTime(used, left, sent);
    } catch (error) {
      throw asOurs(error);
    }
  };

  return {
    query,
    read: async <Row extends object>(statement: Fragment): Promise<Row[]> => {
      try {
        return await query<Row>(statement);
      } catch (error) {
        if (!mayRepeat(error)) throw error;
        return query<Row>(statement);
      }
    },
    async script(text) {
      try {
        const used = connections.take(OWN) ?? (await turn(OWN))[0];
        await used
          .unsafe(text)
          .simple()
          .then(() => requireAnswer(used))
          .then(
            () => connections.give(used),
            (error: unknown) => {
              giveBack(used, error);
              throw error;
            },
          );
      } catch (error) {
        throw asOurs(error);
      }
    },
    listen(channel, heard) {
      const listening = listenOn({
        connect: connectListener,
        mustWait: () => attempts.wait(),
        channel,
        heard,
        patience: options.statementTimeout + GRACE,
      });
      const own = {
        close: async () => {
          listeners.delete(own);
          await listening.close();
        },
      };
      listeners.add(own);
      return own;
    },
    close: async () => {
      await Promise.all([...listeners].map((listening) => listening.close()));
      await connections.close(5);
    },
  };
}
