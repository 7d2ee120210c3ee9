import { pauseUpTo } from '../../flow/pause.ts';
import { hostsOf } from '../driver/hosts.ts';
import type { Replica } from '../driver/lineage.ts';
import { type Database, openDatabase } from '../driver/postgres.ts';
import type { ConnectOptions } from '../driver/settings.ts';
import { type OnStatement, type Pool, watched } from '../driver/watched.ts';
import { type EmbeddedStore, openEmbedded } from '../embedded/embedded.ts';
import { buildIndexes } from './build.ts';
import type { StandbyFence } from './fence.ts';
import { migrate, requireCell, requireMigrated } from './migrate.ts';
import { openReplica } from './replica.ts';
import {
  lookAtPrimary,
  reaching,
  requirePooler,
  requirePrimary,
  requireSession,
  type Setting,
  warningOfCase,
} from './server.ts';

export { StoreUnavailable } from '../embedded/embedded.ts';

export interface Store {
  /** Connections for fast reads, and for writes that do not wait for locks. */
  readonly db: Database;
  /** Connections for slow work such as reports, searches and imports. These connections are opened at first use. */
  readonly slow: Database;
  /** A separate connection for periodic work, so that callers and this work never wait for each other. */
  readonly upkeep: Database;
  /** Connections for writes, each in its own pool, because writes can wait for row locks and reads must not. */
  readonly writers: readonly [Database, ...Database[]];
  /**
   * Connections for batches of tasks: `begins` for new ones, `ends` for ended ones. They never wait for locks. Each has
   * its own pool, so that a silent one is noticed.
   */
  readonly tasks: { readonly begins: Database; readonly ends: Database };
  /** A connection for audit records, so that they never wait for other work. */
  readonly audit: Database;
  /** Connections for live sources. A batch of a first load can take long. These connections are opened at first use. */
  readonly sources: Database;
  /** The streaming replica. `undefined` when DATABASE_REPLICA_URL is not set. */
  readonly replica: Replica | undefined;
  /** The embedded PostgreSQL. `undefined` when DATABASE_URL is set. */
  readonly embedded: EmbeddedStore | undefined;
  readonly version: number;
  readonly pools: readonly Pool[];
  /**
   * Builds missing indexes of large tables: true when built, false at `stop`. PostgreSQL then finishes the running
   * index for the next process. Its connection keeps this process alive, so the process must exit.
   */
  build(stop: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}

export interface StoreOptions {
  readonly databaseUrl: string | undefined;
  readonly setting?: Setting;
  /** The direct address of the server, when `databaseUrl` leads to a pooler in transaction mode. */
  readonly directUrl?: string | undefined;
  readonly replicaUrl?: string | undefined;
  readonly dataDir: string;
  readonly connections: number;
  /** The number that the store has, or gets with its first migration (docs/cells.md). */
  readonly cell?: number;
  /** True (the default): a store with an older schema is migrated. False: such a store is refused. */
  readonly migrates?: boolean | undefined;
  /** True: statements fail while the server is cut off from its synchronous standbys (open/fence.ts). */
  readonly fenced?: boolean | undefined;
  /** Milliseconds after which PostgreSQL cancels a statement. The default depends on the pool. */
  readonly statementTimeout?: number;
  readonly name?: string;
  readonly onStatement?: OnStatement | undefined;
  readonly log: (message: string) => void;
  readonly warn?: ((message: string) => void) | undefined;
}

// Timeout (ms) of a fast statement. A silent server gets 500 ms more. So a request has its 503 within 3 s (check F-06).
const FAST_TIMEOUT = 2_500;
// Timeout (ms) of a write. Less than that of a fast read, because a write may already have waited for its turn.
const WRITE_TIMEOUT = 1_500;
const SLOW_TIMEOUT = 15_000;
/** Timeout (ms) of a statement that writes records of a source. */
const SOURCE_TIMEOUT = 120_000;
/** One connection for each lane of a load. All sources of a process share them. */
const SOURCES = 2;
/** Timeout (ms) of an index build. */
const BUILD_TIMEOUT = 7 * 24 * 3_600_000;
/** Connections for slow reads. An app holds at most two (store/driver/connections.ts), so others have at least one. */
const SLOW = 3;

/** Opens the store of DATABASE_URL, or the embedded one, and migrates it. Throws StoreUnavailable for the operator. */
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
    cell = 1,
  } = options;
  const embedded = databaseUrl === undefined ? await openEmbedded({ dataDir, log, warn }) : undefined;
  const target: ConnectOptions['target'] = embedded ? addressOf(embedded) : (databaseUrl ?? '');
  const pools: Pool[] = [];
  let fence: StandbyFence | undefined;
  const watch = (opened: Database, pooled: string, connections: number, onStatement?: OnStatement): Database => {
    const { db, pool } = watched(opened, { name: pooled, connections, onStatement, closed: () => fence?.error });
    pools.push(pool);
    return db;
  };
  const connect = (connections: number, statementTimeout: number, part: string, keyed = false): Database => {
    const opened = openDatabase({
      target,
      primary: true,
      direct: directUrl,
      connections,
      statementTimeout,
      name: `${name}${part}`,
      keyed,
    });
    // A batch works for several callers, so its statements belong to no single trace.
    return watch(opened, part === '' ? 'reads' : part.slice(1), connections, keyed ? undefined : options.onStatement);
  };
  const db = connect(options.connections, options.statementTimeout ?? FAST_TIMEOUT, '');
  const slowTimeout = Math.max(SLOW_TIMEOUT, options.statementTimeout ?? 0);
  const slow = connect(SLOW, slowTimeout, '-slow');
  const upkeep = connect(1, slowTimeout, '-upkeep');
  const audit = connect(1, options.statementTimeout ?? FAST_TIMEOUT, '-audit', true);
  const sources = connect(SOURCES, SOURCE_TIMEOUT, '-sources');
  const writer = (): Database => connect(1, options.statementTimeout ?? WRITE_TIMEOUT, '-writes', true);
  const task = (part: string): Database => connect(1, options.statementTimeout ?? FAST_TIMEOUT, part, true);
  const tasks = { begins: task('-tasks'), ends: task('-ends') };
  const more = Array.from({ length: Math.max(0, Math.floor(options.connections / 2) - 1) }, writer);
  const writers: Store['writers'] = [writer(), ...more];
  let replica: Replica | undefined;
  const close = async (): Promise<void> => {
    await fence?.close();
    await replica?.close();
    await Promise.all(
      [db, slow, upkeep, audit, sources, tasks.begins, tasks.ends, ...writers].map((one) => one.close()),
    );
    await embedded?.stop();
  };
  // Clients of a pooler share connections, so a migration uses DATABASE_DIRECT_URL if it is set.
  const server = directUrl === undefined ? slow : single(directUrl, name);
  try {
    const found = await reaching(setting, databaseUrl, () => lookAtPrimary(slow, databaseUrl));
    requirePrimary(found, setting);
    const wrongCase = warningOfCase(found, setting);
    if (wrongCase !== undefined) warn?.(wrongCase);
    if (directUrl === undefined) requireSession(found, setting, slowTimeout);
    else {
      const own = await reaching('DATABASE_DIRECT_URL', directUrl, () => lookAtPrimary(server, directUrl));
      requirePrimary(own, 'DATABASE_DIRECT_URL');
      requireSession(own, 'DATABASE_DIRECT_URL', SLOW_TIMEOUT);
      requirePooler(found, own);
    }
    const [migrated, address] =
      directUrl === undefined ? ([setting, databaseUrl] as const) : (['DATABASE_DIRECT_URL', directUrl] as const);
    const { version, applied } = await reaching(migrated, address, async () =>
      options.migrates === false
        ? { version: await requireMigrated(server, migrated), applied: [] }
        : migrate(server, cell),
    );
    await requireCell(server, cell);
    if (applied.length > 0) log(`schema at version ${version}`);
    if (options.fenced === true && !embedded) {
      const { CONFIRMING, openFence } = await import('./fence.ts');
      const own = { target, primary: true, confirms: true, direct: directUrl, connections: 1 };
      const confirming = openDatabase({ ...own, statementTimeout: CONFIRMING, name: `${name}-fence` });
      fence = openFence(confirming, hostsOf(databaseUrl ?? ''));
    }
    if (replicaUrl !== undefined) {
      const count = (opened: Database, connections: number): Database =>
        watch(opened, 'replica', connections, options.onStatement);
      replica = await openReplica({ url: replicaUrl, primary: db, name, log, watch: count });
    }
    const build = async (stop: AbortSignal): Promise<boolean> => {
      const builder = openDatabase({
        target: directUrl ?? target,
        primary: true,
        connections: 1,
        statementTimeout: BUILD_TIMEOUT,
        name: `${name}-build`,
      });
      let built = false;
      const work = buildIndexes({ builder, db: upkeep, log, stop }).then(() => {
        built = !stop.aborted;
      });
      // After `stop`, nobody waits for the build. This handler prevents an unhandled rejection.
      work.catch(() => undefined);
      await pauseUpTo(Infinity, [work], stop).finally(() => void builder.close());
      return built;
    };
    return { db, slow, upkeep, audit, sources, writers, tasks, replica, embedded, version, pools, build, close };
  } catch (error) {
    await close();
    throw error;
  } finally {
    if (server !== slow) await server.close();
  }
}

const addressOf = ({ host, port, database, username, password }: EmbeddedStore): ConnectOptions['target'] => ({
  host,
  port,
  database,
  username,
  ...(password !== undefined && { password }),
});

const single = (target: string, name: string): Database =>
  openDatabase({ target, primary: true, connections: 1, statementTimeout: SLOW_TIMEOUT, name: `${name}-direct` });
