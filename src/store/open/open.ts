import { type ConnectOptions, type Database, openDatabase } from '../driver/postgres.ts';
import { type OnStatement, type Pool, watched } from '../driver/watched.ts';
import { type EmbeddedStore, openEmbedded } from '../embedded/embedded.ts';
import { migrate, requireMigrated } from './migrate.ts';
import { openReplica, type Replica } from './replica.ts';
import { lookAt, reaching, requirePooler, requirePrimary, requireSession, type Setting } from './server.ts';

export { StoreUnavailable } from '../embedded/embedded.ts';

export interface Store {
  /** Fast reads, and writes that wait for nobody. */
  readonly db: Database;
  /** Reports, searches, imports and whatever else may take long: on connections of its own, made at first use. */
  readonly slow: Database;
  /** What the gateway does by itself, in rounds: on a connection of its own, so that it and callers never wait for each other. */
  readonly upkeep: Database;
  /** One connection each, for writes, which may wait for rows and then never stand before a read. */
  readonly writers: readonly [Database, ...Database[]];
  /**
   * For batches of tasks that begin and that end, which wait for nobody: one connection each. In one pool, answers on the
   * one would hide that the other has gone silent.
   */
  readonly tasks: { readonly begins: Database; readonly ends: Database };
  /** Of DATABASE_REPLICA_URL. */
  readonly replica: Replica | undefined;
  /** `undefined` on a DATABASE_URL. */
  readonly embedded: EmbeddedStore | undefined;
  readonly version: number;
  /** What is under way on each of them. */
  readonly pools: readonly Pool[];
  close(): Promise<void>;
}

export interface StoreOptions {
  readonly databaseUrl: string | undefined;
  /** The setting that `databaseUrl` comes from; DATABASE_URL where absent. */
  readonly setting?: Setting;
  /** The server itself, where `databaseUrl` leads to a pooler in transaction mode. */
  readonly directUrl?: string | undefined;
  /** For reads that may lag. */
  readonly replicaUrl?: string | undefined;
  readonly dataDir: string;
  readonly connections: number;
  /** Whether a store of an older schema is brought to the current one, or refused; the former where absent. */
  readonly migrates?: boolean | undefined;
  /** Milliseconds. */
  readonly statementTimeout?: number;
  readonly name?: string;
  /** Told of every statement, for traces. */
  readonly onStatement?: OnStatement | undefined;
  readonly log: (message: string) => void;
  /** Told what an operator has to mend. */
  readonly warn?: ((message: string) => void) | undefined;
}

// With the grace of a silent server, a request has its 503 within 3 s (checks, F-06).
const FAST_TIMEOUT = 2_500;
// A write may have waited for its turn before (gateway/writes.ts).
const WRITE_TIMEOUT = 1_500;
const SLOW_TIMEOUT = 15_000;
/** Connections for slow reads: an app has at most two of them (store/driver/connections.ts), so one is left for the others. */
const SLOW = 3;

/**
 * Opens the store, DATABASE_URL before the embedded PostgreSQL, at the current schema. Throws
 * StoreUnavailable with a sentence for the operator.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const {
    databaseUrl,
    setting = 'DATABASE_URL',
    directUrl,
    replicaUrl,
    dataDir,
    log,
    warn,
    name = 'gateway',
  } = options;
  const embedded = databaseUrl === undefined ? await openEmbedded({ dataDir, log, warn }) : undefined;
  const target: ConnectOptions['target'] = embedded
    ? { host: embedded.host, port: embedded.port, database: embedded.database, username: embedded.username }
    : (databaseUrl ?? '');
  const pools: Pool[] = [];
  const watch = (opened: Database, pooled: string, connections: number, onStatement?: OnStatement): Database => {
    const { db, pool } = watched(opened, { name: pooled, connections, onStatement });
    pools.push(pool);
    return db;
  };
  const connect = (connections: number, statementTimeout: number, part: string, keyed = false): Database => {
    const opened = openDatabase({
      target,
      direct: directUrl,
      connections,
      statementTimeout,
      name: `${name}${part}`,
      keyed,
    });
    // Batches do the work of several callers: their statements are nobody's alone.
    return watch(opened, part === '' ? 'reads' : part.slice(1), connections, keyed ? undefined : options.onStatement);
  };
  const db = connect(options.connections, options.statementTimeout ?? FAST_TIMEOUT, '');
  const slowTimeout = Math.max(SLOW_TIMEOUT, options.statementTimeout ?? 0);
  const slow = connect(SLOW, slowTimeout, '-slow');
  const upkeep = connect(1, slowTimeout, '-upkeep');
  const writer = (): Database => connect(1, options.statementTimeout ?? WRITE_TIMEOUT, '-writes', true);
  const task = (part: string): Database => connect(1, options.statementTimeout ?? FAST_TIMEOUT, part, true);
  const tasks = { begins: task('-tasks'), ends: task('-ends') };
  const more = Array.from({ length: Math.max(0, Math.floor(options.connections / 2) - 1) }, writer);
  const writers: Store['writers'] = [writer(), ...more];
  let replica: Replica | undefined;
  const close = async (): Promise<void> => {
    await replica?.close();
    await Promise.all([db, slow, upkeep, tasks.begins, tasks.ends, ...writers].map((one) => one.close()));
    await embedded?.stop();
  };
  // A pooler has no session that a migration could rely on.
  const server = directUrl === undefined ? slow : single(directUrl, name);
  try {
    const place = await reaching(setting, databaseUrl, () => lookAt(slow));
    requirePrimary(place, setting);
    if (directUrl === undefined) requireSession(place, setting, slowTimeout);
    else {
      const own = await reaching('DATABASE_DIRECT_URL', directUrl, () => lookAt(server));
      requirePrimary(own, 'DATABASE_DIRECT_URL');
      requireSession(own, 'DATABASE_DIRECT_URL', SLOW_TIMEOUT);
      requirePooler(place, own);
    }
    const [migrated, address] =
      directUrl === undefined ? ([setting, databaseUrl] as const) : (['DATABASE_DIRECT_URL', directUrl] as const);
    const { version, applied } = await reaching(migrated, address, async () =>
      options.migrates === false ? { version: await requireMigrated(server), applied: [] } : migrate(server),
    );
    if (applied.length > 0) log(`schema at version ${version}`);
    if (replicaUrl !== undefined) {
      const count = (opened: Database, connections: number): Database =>
        watch(opened, 'replica', connections, options.onStatement);
      replica = await openReplica({ url: replicaUrl, primary: db, name, log, watch: count });
    }
    return { db, slow, upkeep, writers, tasks, replica, embedded, version, pools, close };
  } catch (error) {
    await close();
    throw error;
  } finally {
    if (server !== slow) await server.close();
  }
}

/** One connection past the pooler. */
const single = (target: string, name: string): Database =>
  openDatabase({ target, connections: 1, statementTimeout: SLOW_TIMEOUT, name: `${name}-direct` });
