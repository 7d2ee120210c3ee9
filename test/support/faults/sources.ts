import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { chatwootGrants } from '../../../src/sources/chatwoot/grants.ts';
import { askComparison } from '../../../src/store/administration/sources.ts';
import { type Database, openDatabase } from '../../../src/store/driver/postgres.ts';
import { migrate } from '../../../src/store/open/migrate.ts';
import { difference } from '../chatwoot/difference.ts';
import { expected } from '../chatwoot/oracle.ts';
import { createChatwoot, openChatwoot, type Population, populate } from '../chatwoot/populate.ts';
import { stored } from '../chatwoot/stored.ts';
import { type Cluster, openCluster } from '../cluster.ts';
import { times } from '../form.ts';
import { type AddedSource, addSource } from '../sources.ts';
import { MARK_TEXTS, NOTE_CHANGES } from './source-audit.ts';

export type Mode = 'live' | 'poll';

export interface WorldSource extends AddedSource {
  readonly mode: Mode;
  readonly account: number;
}

/** Two PostgreSQL servers that a test can crash: Chatwoot's, and that of the gateway's store. */
export interface SourceWorld {
  readonly servers: { readonly chatwoot: Cluster; readonly store: Cluster };
  /** Chatwoot's database, for the simulator and the oracle. */
  readonly rails: postgres.Sql;
  readonly sql: postgres.Sql;
  /** Accounts 1 and 2 in each mode. Each source has its own organization. */
  readonly sources: readonly WorldSource[];
  /** The differences between the store and the oracle by source. Empty if all are equal. */
  differences(): Promise<readonly string[]>;
  /** Waits up to `patience` milliseconds until the store equals the oracle. Returns the differences that remain. */
  settled(patience: number): Promise<readonly string[]>;
  /** Compares the poll sources with Chatwoot, because only a comparison finds all deletions. */
  compared(patience: number): Promise<void>;
  close(): Promise<void>;
}

export const STORE = 'gateway';
const CHATWOOT = 'chatwoot';
const ROLE = 'gateway_reader';
/** Seconds between two polls. The long form has the default of `gateway source add`. */
export const PERIOD = times(1, 15);

export async function openSourceWorld(modes: readonly Mode[], population: Population): Promise<SourceWorld> {
  const [chatwoot, store] = await Promise.all([openCluster(), openCluster()]);
  const target = (port: number, database: string) => ({ host: '127.0.0.1', port, database, username: 'postgres' });
  // While a server is down, the driver's own look-up of types would fail without a handler.
  const own = { fetch_types: false };
  await Promise.all([
    chatwoot.sql('postgres').unsafe(`CREATE DATABASE ${CHATWOOT}`),
    store.sql('postgres').unsafe(`CREATE DATABASE ${STORE}`),
  ]);
  const rails = openChatwoot({ ...target(chatwoot.port, CHATWOOT), ...own });
  const sql = openChatwoot({ ...target(store.port, STORE), ...own, max: 4 });
  const db = openDatabase({
    target: target(store.port, STORE),
    connections: 2,
    statementTimeout: 60_000,
    name: 'test',
  });
  await Promise.all([furnish(rails, modes, population), migrate(db).then(() => sql.unsafe(NOTE_CHANGES).simple())]);
  const address = `postgres://${ROLE}@127.0.0.1:${chatwoot.port}/${CHATWOOT}`;
  const sources: WorldSource[] = [];
  for (const mode of modes) {
    for (const account of [1, 2]) {
      const organization = `${mode} ${account}`;
      const added = await addSource({ db }, { address, mode, account, organization, period: PERIOD });
      sources.push({ ...added, mode, account });
    }
  }

  const differences = async (): Promise<readonly string[]> => {
    const worlds = new Map<number, Awaited<ReturnType<typeof expected>>>();
    const found: string[] = [];
    for (const { mode, account, tenant } of sources) {
      const wanted = worlds.get(account) ?? (await expected(rails, { account }));
      worlds.set(account, wanted);
      const { kinds, list } = difference(wanted, await stored(sql, tenant), 2);
      // Each source's organization has a name of its own. The oracle expects the default name.
      const told = Object.entries(kinds).filter(([kind]) => !kind.startsWith('organization '));
      if (told.length > 0)
        found.push(`${mode} ${account}: ${JSON.stringify({ kinds: Object.fromEntries(told), list })}`);
    }
    return found;
  };
  return {
    servers: { chatwoot, store },
    rails,
    sql,
    sources,
    differences,
    settled: async (patience) => {
      for (const end = performance.now() + patience; ; await pause(300)) {
        const found = await differences();
        if (found.length === 0 || performance.now() > end) return found;
      }
    },
    compared: async (patience) => {
      const asked = sources.filter(({ mode }) => mode === 'poll');
      const times = await Promise.all(asked.map(async ({ id }) => [id, await askedAt(db, id)] as const));
      const end = performance.now() + patience;
      for (const [id, at] of times) {
        const done = async (): Promise<boolean> =>
          (await sql`SELECT FROM gateway.source WHERE id = ${id} AND compared_at > ${at} AND progress IS NULL`).length >
          0;
        while (!(await done())) {
          if (performance.now() > end) throw new Error('no comparison has ended');
          await pause(100);
        }
      }
    },
    close: async () => {
      await Promise.all([rails.end({ timeout: 1 }), sql.end({ timeout: 1 }), db.close()]);
      await Promise.all([chatwoot.close(), store.close()]);
    },
  };
}

async function askedAt(db: Database, id: string): Promise<Date> {
  const at = await askComparison(db, id);
  if (at === undefined) throw new Error('the source is gone');
  return at;
}

async function furnish(rails: postgres.Sql, modes: readonly Mode[], population: Population): Promise<void> {
  await createChatwoot(rails);
  await rails.unsafe(MARK_TEXTS).simple();
  await rails.unsafe(chatwootGrants({ role: ROLE, mode: modes.includes('live') ? 'live' : 'poll' })).simple();
  await populate(rails, population);
}
