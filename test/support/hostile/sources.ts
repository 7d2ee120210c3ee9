import type postgres from 'postgres';
import { afterEach, beforeEach, expect } from 'vitest';
import { askComparison } from '../../../src/store/administration/sources.ts';
import { type Database, openDatabase } from '../../../src/store/driver/postgres.ts';
import { difference } from '../chatwoot/difference.ts';
import { expected } from '../chatwoot/oracle.ts';
import { createChatwoot } from '../chatwoot/populate.ts';
import { type ChatwootWorld, chatwootWorld } from '../chatwoot/source-world.ts';
import { stored } from '../chatwoot/stored.ts';
import { freshDatabase, type TestDatabase } from '../database.ts';
import { type AddedSource, addSource, runSources } from '../sources.ts';

export type Mode = 'live' | 'poll';

interface Running {
  readonly errors: unknown[];
  stop(): Promise<void>;
}

/** A store, and a Chatwoot that the test opens and harms. Everything ends after each test. */
export interface HostileBench {
  readonly store: TestDatabase;
  readonly db: Database;
  readonly desk: ChatwootWorld;
  readonly sql: postgres.Sql;
  readonly errors: readonly unknown[];
  open(options?: { encoding?: string }): Promise<postgres.Sql>;
  /** Adds account 1, runs its source, and waits until it is loaded. */
  followed(mode?: Mode, checkEvery?: number): Promise<AddedSource>;
  texts(id: number): Promise<(string | null)[]>;
  /** The first rejects, for example `messages/7 /text too_long`. */
  rejects(): Promise<string[]>;
  /** Waits until the store has the message `id` with the text `text <id>`. */
  shows(id: number, timeout?: number): Promise<void>;
  equals(source: AddedSource, timeout?: number): Promise<void>;
  compared(source: AddedSource): Promise<void>;
}

export function hostileBench(): HostileBench {
  let store: TestDatabase;
  let db: Database;
  let desk: ChatwootWorld;
  let running: Running | undefined;
  beforeEach(async () => {
    store = await freshDatabase();
    const { host, port, name: database } = store;
    const target = { host, port, database, username: 'postgres' };
    db = openDatabase({ target, connections: 4, statementTimeout: 120_000, name: 'test' });
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
    await db.close();
    await store.close();
    await desk.close();
  });
  const texts = async (id: number): Promise<(string | null)[]> => {
    const rows = await store.sql<{ text: string | null }[]>`
      SELECT text FROM platform.message WHERE external_id = ${`cw:1:message:${id}`}`;
    return rows.map(({ text }) => text);
  };
  return {
    get store() {
      return store;
    },
    get db() {
      return db;
    },
    get desk() {
      return desk;
    },
    get sql() {
      return desk.sql;
    },
    get errors() {
      return running?.errors ?? [];
    },
    open: async (options = {}) => {
      desk = await chatwootWorld({ ...options, schema: false });
      await createChatwoot(desk.sql);
      return desk.sql;
    },
    followed: async (mode = 'live', checkEvery) => {
      await desk.grant(mode);
      const source = await addSource({ db }, { address: desk.address(), mode });
      running = runSources({ db }, checkEvery);
      await expect.poll(async () => (await source.state()).state).toBe('following');
      return source;
    },
    texts,
    rejects: async () => {
      const rows = await store.sql<{ reject: string }[]>`
        SELECT origin || ' ' || pointer || ' ' || code AS reject FROM gateway.source_reject ORDER BY 1 LIMIT 50`;
      return rows.map(({ reject }) => reject);
    },
    shows: async (id, timeout = 20_000) => {
      await expect.poll(() => texts(id), { timeout, interval: 100 }).toEqual([`text ${id}`]);
    },
    equals: async ({ tenant }, timeout = 30_000) => {
      const kinds = async () =>
        difference(await expected(desk.sql, { account: 1 }), await stored(store.sql, tenant)).kinds;
      await expect.poll(kinds, { timeout, interval: 500 }).toEqual({});
    },
    compared: async ({ id }) => {
      const asked = (await askComparison(db, id)) ?? null;
      const done = () => store.sql`SELECT FROM gateway.source WHERE id = ${id} AND compared_at > ${asked}`;
      await expect.poll(done).toHaveLength(1);
    },
  };
}
