import postgres from 'postgres';
import { sql } from '../../core/sql.ts';
import { isStandby, StoreUnreachable, sqlState } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';
import { StoreUnavailable } from '../embedded/unavailable.ts';

interface Server {
  readonly version: string;
  /**
   * The cluster's system identifier and the name of the database. A replica has the system identifier of its primary.
   */
  readonly database: string;
  readonly replica: boolean;
  /** The connected role, quoted as an SQL identifier. */
  readonly role: string;
  readonly isolation: string;
  readonly dateStyle: string;
  readonly timeZone: string;
  /**
   * Milliseconds until PostgreSQL cancels a statement (`statementTimeout`) or a wait for a lock (`lockTimeout`). 0
   * means never.
   */
  readonly statementTimeout: number;
  readonly lockTimeout: number;
  /** True when the connection has the settings that the gateway sent. */
  readonly own: boolean;
}

export type Setting = 'DATABASE_URL' | 'DATABASE_DIRECT_URL' | 'DATABASE_REPLICA_URL';

export async function lookAt(db: Database): Promise<Server> {
  const [row] = await db.read<Server>(sql`
    SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS replica, quote_ident(current_user) AS role,
           (SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() AS database,
           current_setting('transaction_isolation') AS isolation, current_setting('DateStyle') AS "dateStyle",
           current_setting('TimeZone') AS "timeZone", s.setting::integer AS "statementTimeout",
           l.setting::integer AS "lockTimeout", s.source = 'client' AS own
      FROM pg_settings s JOIN pg_settings l ON l.name = 'lock_timeout' WHERE s.name = 'statement_timeout'`);
  if (!row) throw new Error('the check of the server returned no row');
  return row;
}

/**
 * Runs `work` on the server whose address is in a setting. When the server cannot be used, throws StoreUnavailable with
 * the name of the setting.
 */
export async function reaching<T>(setting: Setting, address: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // Class 28: wrong role or password. 3D000: unknown database. 42501: missing privileges. 42704: the address has a
    // setting that the server does not know.
    if (!(error instanceof StoreUnreachable) && !/^(28...|3D000|42501|42704)$/.test(sqlState(error))) throw error;
    throw new StoreUnavailable(unreachable(setting, address, error), { cause: error });
  }
}

/**
 * Throws when the server is a replica, or older than PostgreSQL 15. The schema uses ON DELETE SET NULL for single
 * columns, which PostgreSQL 15 introduced.
 */
export function requirePrimary({ version, replica }: Server, setting: Setting): void {
  if (Number.parseInt(version, 10) < 15) {
    throw new StoreUnavailable(`${setting} leads to PostgreSQL ${version}; the gateway needs PostgreSQL 15 or newer.`);
  }
  if (replica) throw new StoreUnavailable(leadsToReplica(setting));
}

const leadsToReplica = (setting: Setting): string =>
  `${setting} leads to a replica, which takes no writes: name the primary server.`;

const serverBehind = (setting: Setting): string =>
  setting === 'DATABASE_URL' ? 'name the server behind it in DATABASE_DIRECT_URL' : 'name the server itself';

type ReliedOn = readonly (readonly [name: string, value: string, holds: (server: Server) => boolean])[];

/**
 * The settings that the gateway needs in every connection. Each entry has the value that the operator must set for a
 * pooler's connections.
 */
const MEANING: ReliedOn = [
  // A statement that has waited for a lock must see the changes that were committed during the wait. Otherwise, the
  // checks of authority and idempotency after a wait would be wrong.
  ['default_transaction_isolation', 'read committed', ({ isolation }) => isolation === 'read committed'],
  ['DateStyle', 'ISO', ({ dateStyle }) => dateStyle.startsWith('ISO')],
  ['TimeZone', 'UTC', ({ timeZone }) => /^(Etc\/)?UTC$/.test(timeZone)],
];

const within = (least: number, value: number, most: number): boolean => least <= value && value <= most;

const RELIED_ON: ReliedOn = [
  // The time limit of a statement must be between 15 s and one minute. A report needs 15 s. A longer limit is harmful,
  // because a statement keeps its locks even when nobody waits for it.
  ['statement_timeout', '15s', ({ statementTimeout }) => within(15_000, statementTimeout, 60_000)],
  ['lock_timeout', '15s', ({ lockTimeout }) => within(1_000, lockTimeout, 60_000)],
  ...MEANING,
];

/**
 * Checks the settings of a connection: the time-outs of `limit` milliseconds, and the settings in MEANING.
 *
 * If the connection ignores the gateway's settings, the connection belongs to a pooler. A pooler is an error here,
 * because a pooler can send a prepared statement to another server connection. If only the values differ, the values
 * come from the address. Parameters of the address override the settings of the gateway.
 */
export function requireSession(server: Server, setting: Setting, limit: number): void {
  if (!server.own) {
    throw new StoreUnavailable(
      `${setting} leads to a pooler, which ignores the settings that the gateway sends: ${serverBehind(setting)}.`,
    );
  }
  const sent: ReliedOn = [
    ['statement_timeout', '', ({ statementTimeout }) => statementTimeout === limit],
    ['lock_timeout', '', ({ lockTimeout }) => lockTimeout === limit],
    ...MEANING,
  ];
  const changed = sent.flatMap(([name, , holds]) => (holds(server) ? [] : name));
  if (changed.length === 0) return;
  throw new StoreUnavailable(
    `${setting} must not set ${changed.join(', ')}, because the gateway does. Remove it from the address.`,
  );
}

/**
 * Checks that a pooler leads to the same database as the server's direct address. Also checks the settings of the
 * pooler's connections, which the operator must set.
 */
export function requirePooler(pooler: Server, server: Server): void {
  if (pooler.database !== server.database) {
    throw new StoreUnavailable(
      'DATABASE_DIRECT_URL must lead to the same database as DATABASE_URL: to the server behind the pooler.',
    );
  }
  const missing = RELIED_ON.filter(([, , holds]) => !holds(pooler));
  if (missing.length === 0) return;
  const names = missing.map(([name]) => name).join(', ');
  const fix = missing.map(([name, value]) => `ALTER ROLE ${pooler.role} SET ${name} = '${value}';`).join(' ');
  throw new StoreUnavailable(
    `The connections of the pooler in DATABASE_URL lack the ${names} that the gateway needs. As the server's owner, run: ${fix} Then reconnect the pooler.`,
  );
}

/**
 * Checks that a replica has the data of the primary. Only a streaming replica has the same rows with the same ids. A
 * promoted replica is no error here, because the gateway does not use it.
 */
export function requireReplica(replica: Server, primary: Server): void {
  if (replica.database === primary.database) return;
  throw new StoreUnavailable(
    'DATABASE_REPLICA_URL must lead to a streaming replica of the server of DATABASE_URL, and to the same database.',
  );
}

export const refusesSettings = ({ cause }: Error): boolean =>
  cause instanceof Error && /unsupported startup parameter/.test(cause.message);

/**
 * Where an address leads: host:port/database, without the password. The driver parses the address but does not connect.
 * Missing parts come from PGHOST, PGPORT, PGDATABASE and the name of the user.
 */
export function leadsTo(address: string): string {
  const socket = decodeURIComponent(new URL(address).hostname);
  const { host, port, database, connection } = postgres(
    address,
    socket.startsWith('/') ? { host: socket } : {},
  ).options;
  // A parameter of the address overrides the database in the path of the address.
  return `${host[0]}:${port[0]}/${connection['database'] ?? database}`;
}

function unreachable(setting: Setting, address: string | undefined, error: unknown): string {
  if (address === undefined) return 'The embedded store does not answer.';
  if (error instanceof Error && isStandby(error.cause)) return leadsToReplica(setting);
  const place = `(${leadsTo(address)})`;
  if (error instanceof Error && refusesSettings(error))
    return `${setting} leads to a pooler ${place}: ${serverBehind(setting)}.`;
  return `${setting} cannot be reached ${place}. Check that the server runs, that the database exists, and that user, password and privileges are right.`;
}
