import postgres from 'postgres';
import type { Fragment } from '../../core/sql.ts';
import { Attempts, type Dial, OF_THE_STORE } from './attempts.ts';
import { Connections, WITHOUT_SERVER } from './connections.ts';
import { mayRepeat } from './errors.ts';
import { foreign } from './foreign.ts';
import { hostsOf } from './hosts.ts';
import { type Heard, type Listening, type ListeningConnection, listenOn } from './listen.ts';
import { GRACE, openRuns } from './runs.ts';
import { type ConnectOptions, sessionSettings } from './settings.ts';
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

/** A read that has taken longer is not sent again, so that its caller has a 503 in time. */
const repeatWithin = (statementTimeout: number): number => Math.max(500, statementTimeout / 5);

/** The socket folder, if it is the host of the address (`%2Ftmp%2Fpg`, as in libpq), which the driver cannot read. */
function socketOf(address: string): { host?: string } {
  const host = decodeURIComponent(new URL(address).hostname);
  return host.startsWith('/') ? { host } : {};
}

const driverOf = (
  server: ConnectOptions['target'],
  options: postgres.Options<Record<string, postgres.PostgresType>> & Pick<Dial, 'socket'> & Partial<Heard>,
): postgres.Sql =>
  typeof server === 'string'
    ? postgres(server, { ...options, ...socketOf(server) })
    : postgres({ ...options, ...server });

export function openDatabase(options: ConnectOptions): Database {
  const { target, direct } = options;
  const theirs = options.foreign === true && typeof target === 'string' ? foreign(target) : undefined;
  const [hosts, listened] = [target, direct ?? target].map((server) =>
    options.primary === true && typeof server === 'string' ? hostsOf(server) : undefined,
  );
  const shared: postgres.Options<Record<string, postgres.PostgresType>> = {
    max: 1,
    // The driver would wait up to 20 s between attempts. A caller needs its 503 at once, and its data soon after a
    // restart.
    backoff: () => 0,
    // Shorter than a caller's wait. Otherwise a connection lost in its TLS handshake would stay open and unused. After a
    // silent host, the next one must have its turn soon.
    connect_timeout: Math.min(hosts && hosts.count > 1 ? 2 : 5, options.statementTimeout / 1000),
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
    const server = hosts?.current ?? target;
    const dial = attempts.dial(theirs?.socket, (cutOff) => typeof server === 'string' && hosts?.leave(server, cutOff));
    const onclose = (): void => connections.ended(driver);
    const driver = driverOf(server, { ...shared, prepare, socket: dial.socket, onclose });
    dials.set(driver, dial);
    return driver;
  };
  const connectListener = (events: Heard): ListeningConnection => {
    const server = listened?.current ?? direct ?? target;
    const connection = sessionSettings({ ...options, direct: undefined });
    const dial = attempts.dial(theirs?.socket, () => typeof server === 'string' && listened?.leave(server));
    return { ...dial, pool: driverOf(server, { ...shared, connection, socket: dial.socket, ...events }) };
  };
  const listeners = new Set<Listening>();
  const withoutServer = options.primary === true ? WITHOUT_SERVER : undefined;
  const connections = new Connections(
    options.connections,
    connect,
    (driver) => dials.get(driver)?.hangUp(),
    (freed) => attempts.wait(freed),
    withoutServer,
  );
  const unfollow = hosts?.follow(() => connections.renew());
  const runs = openRuns({
    ...options,
    ...{ connections, size: options.connections, prepare, dialOf: (driver) => dials.get(driver) },
  });

  return {
    query: runs.alone,
    read: async <Row extends object>(statement: Fragment): Promise<Row[]> => {
      const began = performance.now();
      try {
        return await runs.shared<Row>(statement);
      } catch (error) {
        if (!mayRepeat(error) || performance.now() - began > repeatWithin(options.statementTimeout)) throw error;
        return runs.alone<Row>(statement);
      }
    },
    script: runs.script,
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
      unfollow?.();
      await Promise.all([...listeners].map((listening) => listening.close()));
      await connections.close(5);
    },
  };
}
