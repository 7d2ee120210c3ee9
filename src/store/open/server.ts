import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { raw, sql } from '../../core/sql.ts';
import { addressesOf } from '../../core/store-address.ts';
import { isStandby, refusesSettings, StoreUnreachable, sqlState } from '../driver/errors.ts';
import { hostsOf } from '../driver/hosts.ts';
import type { Database } from '../driver/postgres.ts';
import { StoreUnavailable } from '../embedded/unavailable.ts';

interface StoreServer {
  readonly version: string;
  /** System identifier of the cluster and name of the database. A replica has the identifier of its primary. */
  readonly database: string;
  readonly replica: boolean;
  /** The connected role, quoted as an SQL identifier. */
  readonly role: string;
  readonly isolation: string;
  readonly dateStyle: string;
  readonly timeZone: string;
  /** Time-outs in milliseconds: of a statement, and of a wait for a lock. 0 means never. */
  readonly statementTimeout: number;
  readonly lockTimeout: number;
  /** True when the connection has the settings that the gateway sent. */
  readonly own: boolean;
  /** True if the database is in UTF8 and knows the case of all letters. The locale C knows only those of ASCII. */
  readonly foldsCase: boolean;
}

/** The setting that has the address of a server. `The address`: a command line has it. */
export type Setting = 'DATABASE_URL' | 'DATABASE_DIRECT_URL' | 'DATABASE_REPLICA_URL' | 'The address';

/** Milliseconds before the next host: the pool tries nothing for 250 ms after a refusal. */
const NEXT_HOST = 300;

/** SQL: true if the lower case of É and П is é and п. Another encoding than UTF8 may not have these letters. */
const FOLDS_CASE = raw(`(SELECT coalesce(bool_and(lower(chr(letter)) = chr(letter + 32)), false)
            FROM unnest('{201,1055}'::integer[]) AS letter WHERE getdatabaseencoding() = 'UTF8')`);

export async function lookAt(db: Database): Promise<StoreServer> {
  const [row] = await db.read<StoreServer>(sql`
    SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS replica, quote_ident(current_user) AS role,
           (SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() AS database,
           current_setting('transaction_isolation') AS isolation, current_setting('DateStyle') AS "dateStyle",
           current_setting('TimeZone') AS "timeZone", s.setting::integer AS "statementTimeout",
           l.setting::integer AS "lockTimeout", s.source = 'client' AS own, ${FOLDS_CASE} AS "foldsCase"
      FROM pg_settings s JOIN pg_settings l ON l.name = 'lock_timeout' WHERE s.name = 'statement_timeout'`);
  if (!row) throw new Error('the check of the server returned no row');
  return row;
}

/** Looks at the first host of the address that can be used. */
export async function lookAtPrimary(db: Database, address: string | undefined): Promise<StoreServer> {
  for (let left = address === undefined ? 0 : hostsOf(address).count - 1; ; left--) {
    try {
      return await lookAt(db);
    } catch (error) {
      if (left <= 0 || !(error instanceof StoreUnreachable)) throw error;
      await pause(NEXT_HOST);
    }
  }
}

/** Runs `work` on the server of a setting. If it cannot be used, throws StoreUnavailable with the setting's name. */
export async function reaching<T>(setting: Setting, address: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // 28: wrong role or password. 3D000: unknown database. 42501: privileges. 42704: unknown setting in the address.
    if (!(error instanceof StoreUnreachable) && !/^(28...|3D000|42501|42704)$/.test(sqlState(error))) throw error;
    throw new StoreUnavailable(unreachable(setting, address, error), { cause: error });
  }
}

/** Throws for a replica, and before PostgreSQL 15, which introduced ON DELETE SET NULL for single columns. */
export function requirePrimary({ version, replica }: StoreServer, setting: Setting): void {
  if (Number.parseInt(version, 10) < 15) {
    throw new StoreUnavailable(`${setting} leads to PostgreSQL ${version}; the gateway needs PostgreSQL 15 or newer.`);
  }
  if (replica) throw new StoreUnavailable(leadsToReplica(setting));
}

const leadsToReplica = (setting: Setting): string =>
  `${setting} leads to a replica, which takes no writes: name the primary server.`;

/** Undefined for a database in UTF8 that knows the case of all letters. The others serve most calls, so they start. */
export const warningOfCase = ({ foldsCase }: StoreServer, setting: Setting): string | undefined =>
  foldsCase
    ? undefined
    : `${setting} leads to a database that is not in UTF8, or whose locale knows the letter case of ASCII only. So a search misses words such as É. Use one that was made with TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'. A dump can be restored into it.`;

const serverBehind = (setting: Setting): string =>
  setting === 'DATABASE_URL' ? 'name the server behind it in DATABASE_DIRECT_URL' : 'name the server itself';

type ReliedOn = readonly (readonly [name: string, value: string, holds: (server: StoreServer) => boolean])[];

/** What the gateway needs in every connection, with the value that the operator must set behind a pooler. */
const MEANING: ReliedOn = [
  // A statement that waited for a lock must see what was committed meanwhile. Its checks of authority and idempotency
  // depend on it.
  ['default_transaction_isolation', 'read committed', ({ isolation }) => isolation === 'read committed'],
  ['DateStyle', 'ISO', ({ dateStyle }) => dateStyle.startsWith('ISO')],
  ['TimeZone', 'UTC', ({ timeZone }) => /^(Etc\/)?UTC$/.test(timeZone)],
];

const within = (least: number, value: number, most: number): boolean => least <= value && value <= most;

const RELIED_ON: ReliedOn = [
  // 15 s to one minute. A report needs 15 s. With more, a statement keeps its locks when nobody waits for it.
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
export function requireSession(server: StoreServer, setting: Setting, limit: number): void {
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
 * Checks that a pooler leads to the same database as the direct address, and has the settings that the operator must
 * set.
 */
export function requirePooler(pooler: StoreServer, server: StoreServer): void {
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
 * Checks that a replica has the rows and ids of the primary: only a streaming replica has. A promoted one is no error,
 * because it is not used.
 */
export function requireReplica(replica: StoreServer, primary: StoreServer): void {
  if (replica.database === primary.database) return;
  throw new StoreUnavailable(
    'DATABASE_REPLICA_URL must lead to a streaming replica of the server of DATABASE_URL, and to the same database.',
  );
}

/**
 * Where an address leads: host:port/database of each host, without the password. Parsed by the driver, with PGHOST,
 * PGPORT, PGDATABASE and the user's name for missing parts.
 */
export const leadsTo = (address: string): string => addressesOf(address).map(placeOf).join(' or ');

function placeOf(address: string): string {
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
