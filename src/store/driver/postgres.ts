import postgres from 'postgres';
import { parse } from 'postgres-array';
import type { Fragment } from '../../core/sql.ts';
import { Connections, OWN } from './connections.ts';
import { type Heard, type Listening, listenOn } from './listen.ts';
import { sessionSettings } from './settings.ts';
import { collecting, openStatements, type Sent } from './statement.ts';

/**
 * The door to PostgreSQL. Every call is ONE statement: `postgres` 3.4.9 can commit the rest of a transaction on a
 * replacement connection and can end the process when the server dies inside one (CONTRIBUTING.md, decision 4), so
 * there is no transaction, no reserved connection and no COPY anywhere; a statement is PostgreSQL's own atomic unit.
 */
export interface Database {
  /** Runs one statement, prepared once a connection. The app that it is run for has its turn, and its share of connections. */
  query<Row extends object>(statement: Fragment): Promise<Row[]>;
  /**
   * The same for a statement that changes nothing: where the connection is lost it is sent once more, since one loss says
   * little of the server.
   */
  read<Row extends object>(statement: Fragment): Promise<Row[]>;
  /** Runs a whole SQL script through the simple protocol: one implicit transaction, no parameters. */
  script(text: string): Promise<void>;
  /**
   * LISTEN on a connection of its own, made again whenever it is lost. `heard` gets each payload, and '' whenever
   * listening begins (again): what was said meanwhile is lost, so look. Nothing may depend on being told.
   */
  listen(channel: string, heard: (payload: string) => void): Listening;
  close(): Promise<void>;
}

/** The store cannot be reached now: the connection was refused, lost or ended by the server. Nothing is said of SQL. */
export class StoreUnreachable extends Error {
  override readonly name = 'StoreUnreachable';
}

export interface ConnectOptions {
  /** Where: a DATABASE_URL, or the embedded store's socket. */
  readonly target: string | { host: string; port: number; database: string; username: string; password?: string };
  /**
   * Address of the server itself, where `target` is a pooler's that gives each transaction another session: no statement is
   * prepared there (but with `prepare=true` in the address) and no setting is sent, and LISTEN goes to the server.
   */
  readonly direct?: string | undefined;
  readonly connections: number;
  /** Milliseconds after which PostgreSQL cancels a statement of this pool. */
  readonly statementTimeout: number;
  readonly name: string;
  /** For a pool whose statements only look up by keys, whatever the tables held when they were planned. */
  readonly keyed?: boolean;
}

// SQLSTATE classes and driver codes that mean "no server there now": 08 connection, 57P0x shutdown, 53300 too many.
const UNREACHABLE =
  /^(08...|57P0[123]|53300|CONNECTION_(CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|ECONN(REFUSED|RESET|ABORTED)|EPIPE|ENOENT|ENOTFOUND|ETIMEDOUT|EBUSY|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;

// No connection came about, which says nothing of those that are there.
const REFUSED = /^(ENOTFOUND|EAI_AGAIN|53300)$/;

// Our own: no answer within the time-out and the grace, from a silent server or in a long queue.
const SILENT = 'ETIMEDOUT';
const QUEUED = 'EBUSY';
const late = (code: string): Error => Object.assign(new Error('no answer in time'), { code });
const WAITED = /^(ETIMEDOUT|EBUSY|CONNECT_TIMEOUT)$/;
/** Milliseconds that an answer may come after PostgreSQL should have ended the statement itself. */
const GRACE = 500;
/** Milliseconds between attempts to reach a server that is down, or has no connection left. */
const BACKOFF = 250;

// Nobody listens, or it is still starting.
const DOWN = /^(ECONNREFUSED|ENOENT|57P03)$/;

/** A socket folder as an address's host (`%2Ftmp%2Fpg`, as libpq takes it), which the driver does not read. */
function socketOf(address: string): { host?: string } {
  const host = decodeURIComponent(new URL(address).hostname);
  return host.startsWith('/') ? { host } : {};
}

/** int4[], text[] and int8[]: members arrive as text, as int8 does anyway. */
const ARRAYS = [1007, 1009, 1016];

export function sqlState(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

// Statement and lock time-outs, deadlocks and a read-only server.
const BUSY = /^(57014|55P03|40P01|40001|25006|53...)$/;

/** Whether the store could not do it now: the data is unharmed and a later attempt may succeed. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof StoreUnreachable || BUSY.test(sqlState(error));

/** Whether a statement that can be sent twice should be: after silence a second wait would only double the first. */
export const mayRepeat = (error: unknown): boolean =>
  error instanceof StoreUnreachable && !WAITED.test(sqlState(error.cause));

export function openDatabase(options: ConnectOptions): Database {
  const { target, direct } = options;
  const shared: postgres.Options<Record<string, postgres.PostgresType>> = {
    max: 1,
    // The driver's default waits up to 20 s between attempts; a caller wants its 503 now and its answer soon after.
    backoff: () => 0,
    // Before the caller goes: one that was given up while it connected over TLS would live on, and nobody would have it.
    connect_timeout: Math.min(5, options.statementTimeout / 1000),
    // Connections ends them when they have nothing to do.
    max_lifetime: null,
    onnotice: () => undefined,
    // The driver's own look-up of array types has nobody to catch its failure: a backend that ends during it ends the
    // process. The arrays that we use are known.
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
  // A server that starts is not helped by a connection for each request that comes meanwhile.
  let downUntil = 0;
  /** Milliseconds that a caller waits at the most. */
  const limit = options.statementTimeout + GRACE;

  const unreachable = (cause: unknown): StoreUnreachable =>
    new StoreUnreachable('the store cannot be reached', { cause });
  const asOurs = (error: unknown): unknown => (UNREACHABLE.test(sqlState(error)) ? unreachable(error) : error);

  /** Whoever waits, and whoever comes within a moment, would wait for the same refusal. */
  const down = (error: unknown): void => {
    downUntil = performance.now() + BACKOFF;
    connections.refuse(unreachable(error));
  };

  /** What a failure says of the connection: only where the server itself has refused the statement is it as it was. */
  const giveBack = (used: postgres.Sql, error: unknown): void => {
    const state = sqlState(error);
    if (DOWN.test(state)) down(error);
    if (REFUSED.test(state)) {
      if (!connections.rest(used, BACKOFF)) down(error);
    } else if (UNREACHABLE.test(state) || !(error instanceof postgres.PostgresError)) connections.lose(used);
    else connections.give(used);
  };

  /**
   * A connection, and for how many milliseconds the caller goes on waiting: a quarter of the time, a second at the least,
   * but half of a short one, so that under lasting overload nobody is begun who has just been turned away.
   */
  const turn = async (app: string): Promise<readonly [postgres.Sql, number]> => {
    const began = performance.now();
    const own = Math.min(limit / 2, Math.max(1_000, limit / 4));
    const used = await connections.wait(app, limit - own, () => late(QUEUED));
    return [used, Math.max(1, began + limit - performance.now())];
  };

  /**
   * A server that has gone silent does not end a statement by its time-out either: half a second later the connection is
   * given up. It may still run afterwards (the driver has sent it, and its way to cancel can end the process or hit the
   * next statement): whoever repeats a write repeats its key.
   */
  const inTime = <Row extends object>(used: postgres.Sql, left: number, { text, parameters }: Sent): Promise<Row[]> =>
    new Promise((resolve, reject) => {
      const began = performance.now();
      let timer: NodeJS.Timeout | undefined;
      let over = false;
      const after = (milliseconds: number, what: () => void): void => {
        // An answer that lies in the socket of a busy process is read before the time is called up.
        timer = setTimeout(() => setImmediate(() => over || what()), milliseconds);
      };
      const silent = (): void => {
        connections.lose(used, began);
        reject(late(SILENT));
      };
      // Who stood in line is told when his time is over; a connection is silent when the statement has had all of it.
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
      // The caller names the row's shape, as with any SQL; a golden schema and the output checks hold it to that.
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
