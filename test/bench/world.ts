import postgres from 'postgres';
import { openGateway } from '../../src/gateway/open.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import type { EmbeddedStore } from '../../src/store/embedded/embedded.ts';
import { migrate } from '../../src/store/open/migrate.ts';
import type { Store } from '../../src/store/open/open.ts';
import { KEYS } from '../support/keys.ts';

interface BenchStore {
  readonly target: {
    readonly host: string;
    readonly port: number;
    readonly database: string;
    readonly username: string;
  };
  readonly db: Database;
  /** A superuser's connection, to plant and read data without the gateway. */
  readonly sql: postgres.Sql;
  close(): Promise<void>;
}

/** Opens a migrated database of the bench's server. Creates the database, except `gateway`, which exists. */
export async function openWorld(
  { host, port }: Pick<EmbeddedStore, 'host' | 'port'>,
  database: string,
  connections = 2,
): Promise<BenchStore> {
  const target = { host, port, database, username: 'postgres' };
  const own = { max: 1, onnotice: () => undefined };
  if (database !== 'gateway') {
    const admin = postgres({ ...target, ...own, database: 'postgres' });
    await admin.unsafe(`CREATE DATABASE ${database}`);
    await admin.end();
  }
  const db = openDatabase({ target, connections, statementTimeout: 600_000, name: 'bench' });
  await migrate(db);
  const sql = postgres({ ...target, ...own });
  const close = async (): Promise<void> => void (await Promise.all([db.close(), sql.end()]));
  return { target, db, sql, close };
}

/** Calls a tool through the corridor, as REST does. Throws on a failure. The test suite checks the bodies. */
type BenchCall = (
  name: string,
  input: Readonly<Record<string, unknown>>,
  bearer?: string,
  // biome-ignore lint/suspicious/noExplicitAny: the bench only passes these bodies on
) => Promise<any>;

export async function openCalls(
  db: Database,
  token: string,
  cost?: number,
  more: Partial<Pick<Store, 'slow'>> = {},
): Promise<BenchCall> {
  const store = { db, slow: db, ...more };
  const corridor = await openGateway({ store, keys: KEYS, checkEvery: 1_000_000, onDefect: () => undefined });
  return async (name, input, bearer = token) => {
    const tool = corridor.registry.get(name);
    if (!tool) throw new Error(`no tool ${name}`);
    const call = { tool, resource: 'rest', bearer, input, ...(cost !== undefined && { cost }) } as const;
    const outcome = await corridor.call(call);
    if (!('body' in outcome)) throw new Error(`${name}: ${'failure' in outcome ? outcome.failure.code : 'bytes'}`);
    return outcome.body;
  };
}
