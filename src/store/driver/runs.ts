import { setImmediate as socketsRead } from 'node:timers/promises';
import postgres from 'postgres';
import type { Fragment } from '../../core/sql.ts';
import type { Dial } from './attempts.ts';
import { type Connections, OWN, WAITING } from './connections.ts';
import {
  atStandby,
  DOWN,
  isFull,
  isUnavailable,
  late,
  NO_PRIMARY,
  ON_STANDBY,
  QUEUED,
  READ_ONLY,
  REFUSED,
  SILENT,
  StoreUnreachable,
  sqlState,
  UNREACHABLE,
} from './errors.ts';
import type { ConnectOptions } from './settings.ts';
import { SharedReads } from './shared-reads.ts';
import { collecting, openStatements, type Sent } from './statement.ts';

/** Milliseconds to wait for an answer after PostgreSQL should have cancelled the statement. */
export const GRACE = 500;
/** Milliseconds until the next attempt when the server is down or has no free connection. */
const BACKOFF = 250;

interface RunsOptions extends Pick<ConnectOptions, 'statementTimeout' | 'primary' | 'direct' | 'confirms'> {
  readonly connections: Connections;
  /** How many connections there are. */
  readonly size: number;
  readonly prepare: boolean;
  readonly dialOf: (driver: postgres.Sql) => Dial | undefined;
}

interface Runs {
  /** Runs a statement alone, in its app's turn. */
  alone<Row extends object>(statement: Fragment): Promise<Row[]>;
  /** Runs a read. It can share a statement with other reads that were sent in the same turn of the event loop or wait. */
  shared<Row extends object>(statement: Fragment): Promise<Row[]>;
  script(text: string): Promise<void>;
}

/** Runs statements on connections: waits for a turn, keeps the time, and judges what an error says of the server. */
export function openRuns(options: RunsOptions): Runs {
  const { connections, prepare, dialOf } = options;
  const statementOf = openStatements();
  const sharedReads = new SharedReads(WAITING * options.size);
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
   * connection. `text` is the SQL text if it was prepared: PostgreSQL keeps a prepared statement that failed later.
   */
  const giveBack = (used: postgres.Sql, error: unknown, text?: string): void => {
    const state = sqlState(error);
    const isStandby = NO_PRIMARY.test(state);
    if (isStandby) dialOf(used)?.left('standby');
    else if (UNREACHABLE.test(state) && !isFull(error)) dialOf(used)?.left();
    if (DOWN.test(state)) down(error);
    if (REFUSED.test(state)) {
      if (!connections.rest(used, BACKOFF)) down(error);
    } else if (UNREACHABLE.test(state) || ON_STANDBY.test(state) || !(error instanceof postgres.PostgresError))
      connections.lose(used);
    else {
      dialOf(used)?.answered();
      // Reconnect, to find out whether the server is still read-only. The idle connections stay.
      if (READ_ONLY.test(state)) connections.lose(used, Number.NEGATIVE_INFINITY);
      else connections.give(used, text);
    }
  };

  /**
   * PostgreSQL reports to each new connection whether the server is a standby, and reports a change before its next
   * answer. A pooler can keep an old report. So behind a pooler, the guard of the statement asks
   * (store/calls/guard.ts).
   */
  const isAtStandby = (used: postgres.Sql): boolean =>
    options.primary === true && options.direct === undefined && used.parameters['in_hot_standby'] === 'on';
  /** Rejects the answer of a standby. It can be any time behind, so a revoked token can still be valid there. */
  const requireAnswer = (used: postgres.Sql): void => {
    if (isAtStandby(used)) throw atStandby();
    dialOf(used)?.answered();
  };
  /** An error of a standby tells only that the server is one. It has many codes, and must not keep the connection. */
  const meant = (used: postgres.Sql, error: unknown): unknown =>
    error instanceof postgres.PostgresError && isAtStandby(used) ? atStandby() : error;

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

  /** A connection that is free now, or else at the app's turn, and the milliseconds that are left for the statement. */
  const taken = async (app: string): Promise<readonly [postgres.Sql, number]> => {
    const free = connections.take(app);
    return free ? [free, limit] : turn(app);
  };

  /**
   * Runs a statement, and drops the connection when no answer comes in time. PostgreSQL normally ends the statement at
   * its time-out. This function waits half a second longer. After this wait, the server counts as silent.
   *
   * The statement may still run afterwards. The gateway cannot cancel the statement, because the driver's cancel can
   * end the process or cancel the next statement. So a caller that repeats a write must repeat its idempotency key.
   */
  const inTime = <Row extends object>(
    used: postgres.Sql,
    left: number,
    { text, parameters, lists }: Sent,
    ran?: (types: readonly number[], took: number) => void,
  ): Promise<Row[]> =>
    new Promise((resolve, reject) => {
      const began = performance.now();
      let timer: NodeJS.Timeout | undefined;
      let over = false;
      const after = (milliseconds: number, what: () => void): void => {
        // A busy process reads its sockets late. Read once more before the time-out counts: the answer may be there.
        timer = setTimeout(() => setImmediate(() => over || what()), milliseconds);
      };
      const silent = (): void => {
        dialOf(used)?.left(options.confirms === true ? 'cut off' : undefined);
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
      const prepared = prepare ? text : undefined;
      // The caller declares the type of the rows. A golden schema and the checks of outputs verify it.
      const statement = used.unsafe<Row[]>(text, parameters, { prepare });
      if (lists) statement.values();
      const answer = statement.forEach(rows.add).then((result) => {
        requireAnswer(used);
        ran?.(result.statement.types, performance.now() - began);
      });
      answer.then(
        () => {
          ended();
          resolve(rows.taken());
          connections.give(used, prepared);
        },
        (thrown: unknown) => {
          const error = meant(used, thrown);
          ended();
          rows.taken();
          reject(error);
          giveBack(used, error, prepared);
        },
      );
    });

  const alone = async <Row extends object>(statement: Fragment): Promise<Row[]> => {
    const sent = statementOf(statement);
    const { app = OWN } = statement;
    if (performance.now() < downUntil) throw unreachable(downBy);
    try {
      return await inTime(...(await taken(app)), sent);
    } catch (error) {
      throw asOurs(error);
    }
  };

  /**
   * Runs a read of an app in a batch. The batch is sent when all sockets of this turn of the event loop are read and a
   * connection is free. A read whose statement cannot be shared runs alone.
   */
  const shared = async <Row extends object>(statement: Fragment): Promise<Row[]> => {
    const { app } = statement;
    if (app === undefined || statement.alone) return alone<Row>(statement);
    const sent = statementOf(statement);
    if (performance.now() < downUntil) throw unreachable(downBy);
    try {
      const joined = sharedReads.join<Row>(app, sent, statement.values, async (begin) => {
        await socketsRead();
        return inTime(...(await taken(app)), begin());
      });
      if (joined)
        return await joined.catch((error) => {
          // One read can be the cause. The others must not fail with it.
          if (error instanceof postgres.PostgresError && !isUnavailable(error)) return alone<Row>(statement);
          throw error;
        });
      const ran = (types: readonly number[], took: number): void => sharedReads.ran(statement, sent.text, types, took);
      return await inTime(...(await taken(app)), sent, ran);
    } catch (error) {
      throw asOurs(error);
    }
  };

  return {
    alone,
    shared,
    async script(text) {
      try {
        const used = connections.take(OWN) ?? (await turn(OWN))[0];
        await used
          .unsafe(text)
          .simple()
          .then(() => requireAnswer(used))
          .then(
            () => connections.give(used),
            (thrown: unknown) => {
              const error = meant(used, thrown);
              giveBack(used, error);
              throw error;
            },
          );
      } catch (error) {
        throw asOurs(error);
      }
    },
  };
}
