import postgres from 'postgres';
import { parse } from 'postgres-array';
import type { Fragment } from '../../core/sql.ts';
import { Connections, OWN } from './connections.ts';
import { DOWN, late, mayRepeat, QUEUED, REFUSED, SILENT, StoreUnreachable, sqlState, UNREACHABLE } from './errors.ts';
import { type Heard, type Listening, listenOn } from './listen.ts';
import { type ConnectOptions, sessionSettings } from './settings.ts';
import { collecting, openStatements, type Sent } from './statement.ts';

/**
 * The only access to PostgreSQL. Every call is ONE statement, and PostgreSQL runs a statement atomically. The gateway
 * uses no transaction, no reserved connection and no COPY, for two reasons. After a lost connection, `postgres` 3.4.9
 * can commit the rest of a transaction on another connection. The driver can also end the process when the server dies
 * inside a transaction.
 */
export interface Database {
  /**
   * Runs one statement. Each connection prepares the statement once. The statement waits for the turn of its app and
   * counts against the app's share of connections.
   */
  query<Row extends object>(statement: Fragment): Promise<Row[]>;
  /**
   * Runs a statement that changes nothing, like `query`. When the connection is lost, the statement is sent once more.
   * One lost connection does not mean that the server is down.
   */
  read<Row extends object>(statement: Fragment): Promise<Row[]>;
  /**
   * Runs a whole SQL script through the simple query protocol. The script is one implicit transaction and has no
   * parameters.
   */
  script(text: string): Promise<void>;
  /**
   * Listens to a channel on a separate connection. A lost connection is opened again. `heard` gets the payload of each
   * notification. `heard` also gets '' each time that listening starts. Earlier notifications can be lost, so the
   * caller then looks for changes. Nothing may depend on a notification.
   */
  listen(channel: string, heard: (payload: string) => void): Listening;
  close(): Promise<void>;
}

/** Milliseconds to wait for an answer after PostgreSQL should have cancelled the statement. */
const GRACE = 500;
/** Milliseconds between two attempts to reach a server that is down or has no connection left. */
const BACKOFF = 250;

/**
 * Returns the socket folder when the address has a folder in place of the host (`%2Ftmp%2Fpg`, as in libpq). The driver
 * does not read such an address.
 */
function socketOf(address: string): { host?: string } {
  const host = decodeURIComponent(new URL(address).hostname);
  return host.startsWith('/') ? { host } : {};
}

/**
 * The PostgreSQL type ids of int4[], text[] and int8[]. The members of these arrays arrive as text, like a single int8.
 */
const ARRAYS = [1007, 1009, 1016];

export function openDatabase(options: ConnectOptions): Database {
  const { target, direct } = options;
  const shared: postgres.Options<Record<string, postgres.PostgresType>> = {
    max: 1,
    // The driver's default waits up to 20 s between attempts. A caller needs its 503 now, and an answer soon after the
    // server is back.
    backoff: () => 0,
    // The time-out for connecting is shorter than the caller's wait. Otherwise a connection that is given up during its
    // TLS handshake would stay open and unused.
    connect_timeout: Math.min(5, options.statementTimeout / 1000),
    // The class Connections closes old connections itself.
    max_lifetime: null,
    onnotice: () => undefined,
    // The driver's own look-up of array types is switched off, because its failure is not caught. When a backend ends
    // during that look-up, the failure ends the process. The array types of the gateway are known.
    fetch_types: false,
    types: {
      arrays: { to: 1009, from: ARRAYS, serialize: (value: string) => value, parse: (text: string) => parse(text) },
    },
    connection: sessionSettings(options),
  };
  const prepare = direct === undefined || (typeof target === 'string' && /[?&]prepare=true\b/.test(target));
  const connect = (): postgres.Sql =>
    typeof target === 'string'
      ? postgres(target, { ...shared, prepare, ...socketOf(target) })
      : postgres({ ...shared, prepare, ...target });
  const connectListener = (events: Heard): postgres.Sql => {
    const connection = sessionSettings({ ...options, direct: undefined });
    const own = { ...shared, connection, ...events };
    const server = direct ?? target;
    return typeof server === 'string'
      ? postgres(server, { ...own, ...socketOf(server) })
      : postgres({ ...own, ...server });
  };
  const listeners = new Set<Listening>();
  const statementOf = openStatements();
  const connections = new Connections(options.connections, connect);
  // After a refusal, all statements fail at once until this time. More connection attempts do not help a server that is
  // starting.
  let downUntil = 0;
  /** The most milliseconds that a caller waits for its statement. */
  const limit = options.statementTimeout + GRACE;

  const unreachable = (cause: unknown): StoreUnreachable =>
    new StoreUnreachable('the store cannot be reached', { cause });
  const asOurs = (error: unknown): unknown => (UNREACHABLE.test(sqlState(error)) ? unreachable(error) : error);

  /**
   * Fails all waiting statements, and all statements that arrive within BACKOFF. Each of these statements would get the
   * same refusal.
   */
  const down = (error: unknown): void => {
    downUntil = performance.now() + BACKOFF;
    connections.refuse(unreachable(error));
  };

  /**
   * Returns a connection to the pool after a failure, or closes the connection. The connection is still good only when
   * the server itself refused the statement.
   */
  const giveBack = (used: postgres.Sql, error: unknown): void => {
    const state = sqlState(error);
    if (DOWN.test(state)) down(error);
    if (REFUSED.test(state)) {
      if (!connections.rest(used, BACKOFF)) down(error);
    } else if (UNREACHABLE.test(state) || !(error instanceof postgres.PostgresError)) connections.lose(used);
    else connections.give(used);
  };

  /**
   * Waits for a connection. Returns the connection and the milliseconds that remain for the statement. At least a
   * quarter of the limit and at least a second remain, but at most half of a short limit. So under lasting overload, no
   * statement starts when its caller is about to time out.
   */
  const turn = async (app: string): Promise<readonly [postgres.Sql, number]> => {
    const began = performance.now();
    const own = Math.min(limit / 2, Math.max(1_000, limit / 4));
    const used = await connections.wait(app, limit - own, () => late(QUEUED));
    return [used, Math.max(1, began + limit - performance.now())];
  };

  /**
   * Runs a statement and gives the connection up when no answer comes in time. A silent server does not end a statement
   * at its time-out, so this function waits half a second longer.
   *
   * The statement may still run afterwards. The gateway cannot cancel the statement, because the driver's cancel can
   * end the process or hit the next statement. So a caller that repeats a write must repeat its idempotency key.
   */
  const inTime = <Row extends object>(used: postgres.Sql, left: number, { text, parameters }: Sent): Promise<Row[]> =>
    new Promise((resolve, reject) => {
      const began = performance.now();
      let timer: NodeJS.Timeout | undefined;
      let over = false;
      const after = (milliseconds: number, what: () => void): void => {
        // A busy process may not have read the answer from its socket yet. So the process reads the socket once more
        // before the time-out counts.
        timer = setTimeout(() => setImmediate(() => over || what()), milliseconds);
      };
      const silent = (): void => {
        connections.lose(used, began);
        reject(late(SILENT));
      };
      // A caller that has waited in line gets its error now. The connection counts as silent only after the full limit.
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
      // The caller names the shape of the row, as with any SQL. A golden schema and the output checks verify the shape.
      const statement = used.unsafe<Row[]>(text, parameters, { prepare });
      statement.forEach(rows.add).then(
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
    if (performance.now() < downUntil) throw new StoreUnreachable('the store could not be reached a moment ago');
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
