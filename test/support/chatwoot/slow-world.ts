import { setTimeout as pause } from 'node:timers/promises';
import { explainSource } from '../../../src/sources/follow/explain.ts';
import { type SourcesOptions, startSources } from '../../../src/sources/follow/runner.ts';
import { BOUNDS, type LoadBounds } from '../../../src/sources/follow/spent.ts';
import { freshDatabase, type TestDatabase } from '../database.ts';
import { type AddedSource, addSource, openStored } from '../sources.ts';
import { message, put, seed } from './source-rows.ts';
import { type ChatwootWorld, chatwootWorld } from './source-world.ts';

/** A store, a Chatwoot with two accounts, and a gateway for which some organizations' helpdesks are slow. */
export interface SlowWorld {
  readonly store: TestDatabase;
  readonly desk: ChatwootWorld;
  /** The organizations whose helpdesk answers each page of a load slowly. */
  readonly slow: Set<string>;
  /** By source: the pages of a load that the gateway asked for. */
  readonly asked: Map<string, unknown[]>;
  add(organization: string, account?: number): Promise<AddedSource>;
  /** Starts another gateway. One gateway runs eight sources. */
  start(): void;
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** The bounds of loads hold while an organization is slow. On a busy machine, a quick load can also take ten seconds. */
export async function slowWorld(
  options: Pick<SourcesOptions, 'turn' | 'bounds' | 'checkEvery'> & {
    readonly answer: number;
  },
): Promise<SlowWorld> {
  const { answer, bounds = BOUNDS, ...others } = options;
  const store = await freshDatabase();
  const desk = await chatwootWorld();
  await desk.grant('poll');
  await seed(desk.sql);
  for (const id of [1, 2, 3]) await message(desk.sql, id);
  await put(desk.sql, 'contacts', { id: 2, account_id: 2, name: 'Ada' });
  const slow = new Set<string>();
  const asked = new Map<string, unknown[]>();
  const gateways: { stop(): Promise<void> }[] = [];
  const now = (): LoadBounds => (slow.size > 0 ? bounds : BOUNDS);
  const start = (): void => {
    const gateway = startSources({
      ...others,
      bounds: {
        get window() {
          return now().window;
        },
        get fewest() {
          return now().fewest;
        },
        get total() {
          return now().total;
        },
      },
      db: store.db,
      writer: store.db,
      open: (row) => {
        const source = openStored(row);
        return {
          ...source,
          load: async (after) => {
            asked.set(row.id, [...(asked.get(row.id) ?? []), after]);
            if (slow.has(row.organization)) await pause(answer);
            return source.load(after);
          },
        };
      },
      explain: explainSource,
      onError: () => undefined,
    });
    gateways.push(gateway);
  };
  const stop = async (): Promise<void> => {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
  };
  start();
  return {
    store,
    desk,
    slow,
    asked,
    add: (organization, account = 1) =>
      addSource(store, { address: desk.address(), mode: 'poll', organization, account }),
    start,
    stop,
    close: async () => {
      await stop();
      await store.close();
      await desk.close();
    },
  };
}
