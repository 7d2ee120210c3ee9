import postgres from 'postgres';
import { parse } from 'postgres-array';
import { compile, type Fragment, type Value } from '../core/sql.ts';
import { type Heard, type Listening, listenOn } from './listen.ts';

/**
 * The door to PostgreSQL. Every call is ONE statement: `postgres` 3.4.9 can commit the rest of a transaction on a
 * replacement connection and can end the process when the server dies inside one (CONTRIBUTING.md, decision 4), so
 * there is no transaction, no reserved connection and no COPY anywhere; a statement is PostgreSQL's own atomic unit.
 */
export interface Database {
  /** Runs one statement, prepared once a connection. */
  query<Row extends object>(statement: Fragment): Promise<Row[]>;
  /**
   * The same for a statement that changes nothing: where the connection is lost it is sent once more. After a server's
   * restart the driver gives a new connection's first query the old one's error, so one loss says little.
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

// No connection came about: there is nothing stale to get rid of.
const REFUSED = /^(ENOTFOUND|EAI_AGAIN|53300|CONNECTION_ENDED|CONNECTION_DESTROYED|EBUSY)$/;

// Our own: no answer within the time-out and the grace, from a silent server or in a long queue.
const SILENT = 'ETIMEDOUT';
const QUEUED = 'EBUSY';
const WAITED = /^(ETIMEDOUT|EBUSY)$/;
/** Milliseconds that an answer may come after PostgreSQL should have ended the statement itself. */
const GRACE = 500;
/** Milliseconds between attempts to reach a server that is down. */
const BACKOFF = 250;
/** Statement time-out up to which a pool is one for short statements. */
const SHORT = 5_000;

// Nobody listens, or it is still starting: whoever waits in the queue waits for the same refusal.
const DOWN = /^(ECONNREFUSED|ENOENT|57P03)$/;

/** A socket folder as an address's host (`%2Ftmp%2Fpg`, as libpq takes it), which the driver does not read. */
function socketOf(address: string): { host?: string } {
  const host = decodeURIComponent(new URL(address).hostname);
  return host.startsWith('/') ? { host } : {};
}

/** int4[], text[] and int8[]: members arrive as text, as int8 does anyway. */
const ARRAYS = [1007, 1009, 1016];

const isList = (value: Value): value is readonly (string | number | null)[] => Array.isArray(value);

/** An array travels as PostgreSQL's array literal, and the statement says of what. */
const parameter = (value: Value): string | number | boolean | null | Date | Uint8Array =>
  isList(value)
    ? `{${value.map((one) => (one === null ? 'NULL' : `"${String(one).replace(/["\\]/g, '\\$&')}"`)).join(',')}}`
    : value;

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

/** What a session of ours begins with. A pooler has sessions of its own, and knows three of these (pgbouncer's manual). */
const settings = ({ name, statementTimeout, direct, keyed }: ConnectOptions): Record<string, string | number> => ({
  application_name: name,
  TimeZone: 'UTC',
  // Times of views travel as text of this style.
  DateStyle: 'ISO',
  ...(direct === undefined && {
    statement_timeout: statementTimeout,
    // What is done at a commit (0011_journal.sql) has no time-out but this one.
    lock_timeout: statementTimeout,
    // A server of ours that is cut off must not keep row locks.
    idle_in_transaction_session_timeout: 30_000,
    // Over TCP, neither must one that has vanished without a word: seconds until the first probe, between probes, probes.
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 3,
    // Functions that wait for a lock have to see what was committed meanwhile.
    default_transaction_isolation: 'read committed',
    // Compiling a plan took longer than running it, in every statement looked at (an import's by 2.5 s).
    jit: 'off',
    // A plan of arrays is never taken for the cheaper one, and a plan made while a table was small goes on to scan it.
    ...(keyed === true && { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }),
  }),
});

export function openDatabase(options: ConnectOptions): Database {
  const { target, direct } = options;
  const shared: postgres.Options<Record<string, postgres.PostgresType>> = {
    max: options.connections,
    // The driver's default waits up to 20 s between attempts; a caller wants its 503 now and its answer soon after.
    backoff: () => BACKOFF / 1000,
    connect_timeout: 5,
    onnotice: () => undefined,
    // The driver's own look-up of array types has nobody to catch its failure: a backend that ends during it ends the
    // process. The arrays that we use are known.
    fetch_types: false,
    types: {
      arrays: { to: 1009, from: ARRAYS, serialize: (value: string) => value, parse: (text: string) => parse(text) },
    },
    connection: settings(options),
  };
  const prepare = direct === undefined || (typeof target === 'string' && /[?&]prepare=true\b/.test(target));
  const connect = (): postgres.Sql =>
    typeof target === 'string'
      ? postgres(target, { ...shared, prepare, ...socketOf(target) })
      : postgres({ ...shared, prepare, ...target });
  const connectListener = (events: Heard): postgres.Sql => {
    const connection = settings({ ...options, direct: undefined });
    const own = { ...shared, connection, max: 1, max_lifetime: null, ...events };
    const server = direct ?? target;
    return typeof server === 'string'
      ? postgres(server, { ...own, ...socketOf(server) })
      : postgres({ ...own, ...server });
  };
  const listeners = new Set<Listening>();
  let driver = connect();
  // A server that starts is not helped by a connection for each request that comes meanwhile.
  let downUntil = 0;

  /**
   * Makes an error ours. A connection that was lost keeps its unsent bytes, write timer and last error in the driver,
   * and the next one in its place inherits them: it hangs until its time-out, or fails for nothing. So a pool that has
   * lost a connection is replaced whole, and what still runs on it has its statement time-out to finish.
   */
  const translate = (error: unknown, used: postgres.Sql): never => {
    const state = sqlState(error);
    if (!UNREACHABLE.test(state)) throw error;
    if (used === driver && !REFUSED.test(state)) {
      driver = connect();
      if (DOWN.test(state)) downUntil = performance.now() + BACKOFF;
      // Left alone, the driver refuses those who wait in line one by one, a quarter of a second apart (200 requests: more
      // than 20 s). So a pool for short statements is ended after a second, and one that nobody listens to at once.
      const short = options.statementTimeout <= SHORT;
      const timeout = DOWN.test(state) ? 0 : short ? 1 : options.statementTimeout / 1000 + 1;
      used.end({ timeout }).catch(() => undefined); // it has nothing left to say
    }
    throw new StoreUnreachable('the store cannot be reached', { cause: error });
  };

  let answeredAt = 0;
  /**
   * A server that has gone silent does not end a statement by its time-out either: half a second later the connection is
   * given up. Where anything was answered meanwhile the statement has only stood in line, and the pool is kept. It may
   * still run afterwards (the driver has sent it, and its way to cancel can end the process or hit the next statement):
   * whoever repeats a write repeats its key.
   */
  const inTime = async <Row extends object>(statement: postgres.PendingQuery<Row[]>): Promise<Row[]> => {
    const began = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<never>((_, reject) => {
      const late = (): void =>
        reject(Object.assign(new Error('no answer in time'), { code: answeredAt > began ? QUEUED : SILENT }));
      timer = setTimeout(late, options.statementTimeout + GRACE);
    });
    // Also the answer to whom nobody waits any more shows that the server lives; so does a refusal.
    const heard = (): void => {
      answeredAt = performance.now();
    };
    statement.then(heard, (error: unknown) => {
      if (!UNREACHABLE.test(sqlState(error))) heard();
    });
    try {
      return await Promise.race([statement, silence]);
    } finally {
      clearTimeout(timer);
    }
  };

  const query = async <Row extends object>(statement: Fragment): Promise<Row[]> => {
    const { text, values } = compile(statement);
    if (performance.now() < downUntil) throw new StoreUnreachable('the store could not be reached a moment ago');
    const used = driver;
    try {
      // The caller names the row's shape, as with any SQL; a golden schema and the output checks hold it to that.
      const rows = await inTime(used.unsafe<Row[]>(text, values.map(parameter), { prepare }));
      // The driver counts rows on from where a lost connection stopped, and a statement queued behind it gets holes
      // before its first row: "no row" to whoever looks at the first.
      return rows.length === 0 || 0 in rows ? rows : rows.filter(() => true);
    } catch (error) {
      return translate(error, used);
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
      const used = driver;
      try {
        await used.unsafe(text).simple();
      } catch (error) {
        translate(error, used);
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
      await driver.end({ timeout: 5 });
    },
  };
}
