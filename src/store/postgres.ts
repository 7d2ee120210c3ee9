import postgres from 'postgres';
import { compile, type Fragment } from '../core/sql.ts';

/**
 * The door to PostgreSQL. Every call is ONE statement: `postgres` 3.4.9 can commit the rest of a transaction on a
 * replacement connection and can end the process when the server dies inside one (CONTRIBUTING.md, decision 4), so
 * there is no transaction, no reserved connection and no COPY anywhere; a statement is PostgreSQL's own atomic unit.
 */
export interface Database {
  /** Runs one statement, prepared once a connection. Reads may be retried by the driver's caller, writes never. */
  query<Row extends object>(statement: Fragment): Promise<Row[]>;
  /** Runs a whole SQL script through the simple protocol: one implicit transaction, no parameters. */
  script(text: string): Promise<void>;
  close(): Promise<void>;
}

/** The store cannot be reached now: the connection was refused, lost or ended by the server. Nothing is said of SQL. */
export class StoreUnreachable extends Error {
  override readonly name = 'StoreUnreachable';
}

export interface ConnectOptions {
  /** Where: a DATABASE_URL, or the embedded store's socket. */
  readonly target: string | { host: string; port: number; database: string; username: string; password?: string };
  readonly connections: number;
  /** Milliseconds after which PostgreSQL cancels a statement of this pool. */
  readonly statementTimeout: number;
  readonly name: string;
}

// SQLSTATE classes and driver codes that mean "no server there now": 08 connection, 57P0x shutdown, 53300 too many.
const UNREACHABLE =
  /^(08...|57P0[123]|53300|CONNECTION_(CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|ECONN(REFUSED|RESET|ABORTED)|EPIPE|ENOENT|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;

export function sqlState(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

export function openDatabase(options: ConnectOptions): Database {
  const { target } = options;
  const shared: postgres.Options<Record<string, postgres.PostgresType>> = {
    max: options.connections,
    // The driver's default waits up to 20 s between attempts; a caller wants its 503 now and its answer soon after.
    backoff: () => 0.25,
    connect_timeout: 5,
    onnotice: () => undefined,
    connection: {
      application_name: options.name,
      statement_timeout: options.statementTimeout,
      // A server of ours that is cut off must not keep row locks.
      idle_in_transaction_session_timeout: 30_000,
      TimeZone: 'UTC',
    },
  };
  const driver =
    typeof target === 'string'
      ? postgres(target, shared)
      : postgres({ ...shared, ...target, ...(target.password === undefined ? {} : { password: target.password }) });

  const translate = (error: unknown): never => {
    if (UNREACHABLE.test(sqlState(error))) throw new StoreUnreachable('the store cannot be reached', { cause: error });
    throw error;
  };

  return {
    async query<Row extends object>(statement: Fragment): Promise<Row[]> {
      const { text, values } = compile(statement);
      try {
        // The caller names the row's shape, as with any SQL; a golden schema and the output checks hold it to that.
        return await driver.unsafe<Row[]>(text, values as postgres.ParameterOrJSON<never>[], { prepare: true });
      } catch (error) {
        return translate(error);
      }
    },
    async script(text) {
      try {
        await driver.unsafe(text).simple();
      } catch (error) {
        translate(error);
      }
    },
    close: () => driver.end({ timeout: 5 }),
  };
}
