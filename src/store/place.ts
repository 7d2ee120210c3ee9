import { sql } from '../core/sql.ts';
import { StoreUnavailable } from './embedded/unavailable.ts';
import { type Database, StoreUnreachable, sqlState } from './postgres.ts';

/** What the addresses of an operator lead to: looked at before anything is served. */
interface Place {
  readonly version: string;
  /** The cluster's own number, which its replicas share, and the database in it. */
  readonly database: string;
  readonly replica: boolean;
  /** Whether PostgreSQL itself ends what takes too long. */
  readonly limited: boolean;
  /** Whether the session began with what we sent. */
  readonly own: boolean;
}

/** The server behind an address. */
export async function lookAt(db: Database): Promise<Place> {
  const [row] = await db.read<Place>(sql`
    SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS replica,
           (SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() AS database,
           current_setting('statement_timeout') <> '0' AND current_setting('lock_timeout') <> '0' AS limited,
           (SELECT source = 'client' FROM pg_settings WHERE name = 'statement_timeout') AS own`);
  if (!row) throw new Error('a look at the server came to nothing');
  return row;
}

/** Runs what needs the server of a setting; where it cannot be had, throws StoreUnavailable with a sentence that names it. */
export async function reaching<T>(setting: string, address: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // Class 28: who asks; 3D: the database; 42501: its rights; 42704: a setting in the address that the server does not know.
    if (!(error instanceof StoreUnreachable) && !/^(28...|3D000|42501|42704)$/.test(sqlState(error))) throw error;
    throw new StoreUnavailable(unreachable(setting, address, error), { cause: error });
  }
}

/** The schema uses what PostgreSQL 15 brought (ON DELETE SET NULL of one column). */
export function requirePrimary({ version, replica }: Place): void {
  if (Number.parseInt(version, 10) < 15) {
    throw new StoreUnavailable(
      `DATABASE_URL leads to PostgreSQL ${version}; the gateway needs PostgreSQL 15 or newer.`,
    );
  }
  if (replica)
    throw new StoreUnavailable('DATABASE_URL leads to a replica, which takes no writes: name the primary server.');
}

/** A session that ignores what we begin it with is a pooler's: statements prepared there would be another session's. */
export function requireSession({ own }: Place): void {
  if (own) return;
  throw new StoreUnavailable(
    'DATABASE_URL leads to a pooler, which ignores the settings of a session: name the server behind it in DATABASE_DIRECT_URL.',
  );
}

/** A pooler's sessions are the operator's: without these limits, what nobody waits for any more would keep its locks. */
export function requirePooler(pooler: Place, server: Place): void {
  if (pooler.database !== server.database) {
    throw new StoreUnavailable(
      'DATABASE_DIRECT_URL must lead to the same database as DATABASE_URL: to the server behind the pooler.',
    );
  }
  if (!pooler.limited) {
    throw new StoreUnavailable(
      "The sessions of DATABASE_URL have no statement_timeout or no lock_timeout. Give them both, as the server's owner: ALTER ROLE … SET statement_timeout = '15s', and the same of lock_timeout; then reconnect the pooler.",
    );
  }
}

/** Only what the primary streams holds the same rows under the same ids. */
export function requireReplica(replica: Place, primary: Place): void {
  if (replica.replica && replica.database === primary.database) return;
  throw new StoreUnavailable(
    'DATABASE_REPLICA_URL must lead to a streaming replica of the server of DATABASE_URL, and to the same database.',
  );
}

/** Names the address without its password. */
function unreachable(setting: string, address: string | undefined, error: unknown): string {
  if (address === undefined) return 'The embedded store does not answer.';
  const { hostname, port, pathname } = new URL(address);
  const place = `(${hostname || 'local'}${port && `:${port}`}${pathname})`;
  const said = error instanceof Error && error.cause instanceof Error ? error.cause.message : '';
  if (setting === 'DATABASE_URL' && /unsupported startup parameter/.test(said)) {
    return `DATABASE_URL leads to a pooler ${place}: name the server behind it in DATABASE_DIRECT_URL.`;
  }
  return `${setting} cannot be reached ${place}. Is the server running, does the database exist, and are user, password and rights in order?`;
}
