import postgres from 'postgres';
import { sql } from '../../core/sql.ts';
import { type Database, StoreUnreachable, sqlState } from '../driver/postgres.ts';
import { StoreUnavailable } from '../embedded/unavailable.ts';

/** What the addresses of an operator lead to: looked at before anything is served. */
interface Place {
  readonly version: string;
  /** The cluster's own number, which its replicas share, and the database in it. */
  readonly database: string;
  readonly replica: boolean;
  /** Who asks, as SQL writes the name. */
  readonly role: string;
  readonly isolation: string;
  readonly dateStyle: string;
  readonly timeZone: string;
  /** Milliseconds after which PostgreSQL itself ends a statement, and a wait for a lock; 0: never. */
  readonly statementTimeout: number;
  readonly lockTimeout: number;
  /** Whether the session began with what we sent. */
  readonly own: boolean;
}

export type Setting = 'DATABASE_URL' | 'DATABASE_DIRECT_URL' | 'DATABASE_REPLICA_URL';

/** The server behind an address. */
export async function lookAt(db: Database): Promise<Place> {
  const [row] = await db.read<Place>(sql`
    SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS replica, quote_ident(current_user) AS role,
           (SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() AS database,
           current_setting('transaction_isolation') AS isolation, current_setting('DateStyle') AS "dateStyle",
           current_setting('TimeZone') AS "timeZone", s.setting::integer AS "statementTimeout",
           l.setting::integer AS "lockTimeout", s.source = 'client' AS own
      FROM pg_settings s JOIN pg_settings l ON l.name = 'lock_timeout' WHERE s.name = 'statement_timeout'`);
  if (!row) throw new Error('a look at the server came to nothing');
  return row;
}

/** Runs what needs the server of a setting; where it cannot be had, throws StoreUnavailable with a sentence that names it. */
export async function reaching<T>(setting: Setting, address: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // Class 28: who asks; 3D: the database; 42501: its rights; 42704: a setting in the address that the server does not know.
    if (!(error instanceof StoreUnreachable) && !/^(28...|3D000|42501|42704)$/.test(sqlState(error))) throw error;
    throw new StoreUnavailable(unreachable(setting, address, error), { cause: error });
  }
}

/** The schema uses what PostgreSQL 15 brought (ON DELETE SET NULL of one column). */
export function requirePrimary({ version, replica }: Place, setting: Setting): void {
  if (Number.parseInt(version, 10) < 15) {
    throw new StoreUnavailable(`${setting} leads to PostgreSQL ${version}; the gateway needs PostgreSQL 15 or newer.`);
  }
  if (replica)
    throw new StoreUnavailable(`${setting} leads to a replica, which takes no writes: name the primary server.`);
}

const serverBehind = (setting: Setting): string =>
  setting === 'DATABASE_URL' ? 'name the server behind it in DATABASE_DIRECT_URL' : 'name the server itself';

type ReliedOn = readonly (readonly [name: string, value: string, holds: (place: Place) => boolean])[];

/** What the gateway relies on in every session, and what gives it to one that a pooler has. */
const MEANING: ReliedOn = [
  // Who waited for a lock has to see what was committed meanwhile: authority and idempotency depend on it.
  ['default_transaction_isolation', 'read committed', ({ isolation }) => isolation === 'read committed'],
  ['DateStyle', 'ISO', ({ dateStyle }) => dateStyle.startsWith('ISO')],
  ['TimeZone', 'UTC', ({ timeZone }) => /^(Etc\/)?UTC$/.test(timeZone)],
];

const within = (least: number, value: number, most: number): boolean => least <= value && value <= most;

const RELIED_ON: ReliedOn = [
  // Nobody waits any more, but a report may take its 15 s: what ran on would keep its locks.
  ['statement_timeout', '15s', ({ statementTimeout }) => within(15_000, statementTimeout, 60_000)],
  ['lock_timeout', '15s', ({ lockTimeout }) => within(1_000, lockTimeout, 60_000)],
  ...MEANING,
];

/**
 * A session that ignores what we begin it with, a limit of `limit` milliseconds and MEANING among it, is a pooler's: statements
 * prepared there would be another session's. One that has other values was given them by the address, whose parameters stand
 * above what we send.
 */
export function requireSession(place: Place, setting: Setting, limit: number): void {
  if (!place.own) {
    throw new StoreUnavailable(
      `${setting} leads to a pooler, which ignores the settings of a session: ${serverBehind(setting)}.`,
    );
  }
  const sent: ReliedOn = [
    ['statement_timeout', '', ({ statementTimeout }) => statementTimeout === limit],
    ['lock_timeout', '', ({ lockTimeout }) => lockTimeout === limit],
    ...MEANING,
  ];
  const changed = sent.flatMap(([name, , holds]) => (holds(place) ? [] : name));
  if (changed.length === 0) return;
  throw new StoreUnavailable(
    `${setting} must not set ${changed.join(', ')}: the gateway does. Take it out of the address.`,
  );
}

/** A pooler's sessions are the operator's. */
export function requirePooler(pooler: Place, server: Place): void {
  if (pooler.database !== server.database) {
    throw new StoreUnavailable(
      'DATABASE_DIRECT_URL must lead to the same database as DATABASE_URL: to the server behind the pooler.',
    );
  }
  const missing = RELIED_ON.filter(([, , holds]) => !holds(pooler));
  if (missing.length === 0) return;
  const names = missing.map(([name]) => name).join(', ');
  const mend = missing.map(([name, value]) => `ALTER ROLE ${pooler.role} SET ${name} = '${value}';`).join(' ');
  throw new StoreUnavailable(
    `The sessions of DATABASE_URL have not the ${names} that the gateway relies on (OPERATIONS.md, A pooler). As the server's owner: ${mend} Then reconnect the pooler.`,
  );
}

/** Only what the primary streams holds the same rows under the same ids. One that was promoted is no error: it is not used. */
export function requireReplica(replica: Place, primary: Place): void {
  if (replica.database === primary.database) return;
  throw new StoreUnavailable(
    'DATABASE_REPLICA_URL must lead to a streaming replica of the server of DATABASE_URL, and to the same database.',
  );
}

/** Whether it is a pooler that refuses what a session of ours begins with. */
export const refusesSettings = ({ cause }: Error): boolean =>
  cause instanceof Error && /unsupported startup parameter/.test(cause.message);

/**
 * Where an address leads, without its password, as host:port/database. The driver itself says it, and connects to nothing
 * for that: what the address leaves out it takes from PGHOST, PGPORT, PGDATABASE and the user's name.
 */
export function leadsTo(address: string): string {
  const socket = decodeURIComponent(new URL(address).hostname);
  const { host, port, database, connection } = postgres(
    address,
    socket.startsWith('/') ? { host: socket } : {},
  ).options;
  const servers = host.map((name, i) => `${name}:${port[i]}`).join(',');
  // A parameter of the address stands above its path.
  return `${servers}/${connection['database'] ?? database}`;
}

function unreachable(setting: Setting, address: string | undefined, error: unknown): string {
  if (address === undefined) return 'The embedded store does not answer.';
  const place = `(${leadsTo(address)})`;
  if (error instanceof Error && refusesSettings(error))
    return `${setting} leads to a pooler ${place}: ${serverBehind(setting)}.`;
  return `${setting} cannot be reached ${place}. Is the server running, does the database exist, and are user, password and rights in order?`;
}
