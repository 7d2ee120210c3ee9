import postgres from 'postgres';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { askComparison } from '../../../src/store/administration/sources.ts';
import { difference } from '../../support/chatwoot/difference.ts';
import { expected } from '../../support/chatwoot/oracle.ts';
import { createChatwoot, populate } from '../../support/chatwoot/populate.ts';
import { simulate } from '../../support/chatwoot/simulator.ts';
import { type ChatwootWorld, chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { misordered, stored } from '../../support/chatwoot/stored.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { LONG, times } from '../../support/form.ts';
import { type AddedSource, addSource, runSources } from '../../support/sources.ts';

let store: TestDatabase;
let desk: ChatwootWorld;
let rails: postgres.Sql;
beforeEach(async () => {
  store = await freshDatabase();
  desk = await chatwootWorld({ schema: false });
  await createChatwoot(desk.sql);
  const { host, port, database } = desk;
  rails = postgres({ host, port, database, username: 'postgres', max: 8, onnotice: () => undefined });
});
afterEach(async () => {
  await rails.end();
  await store.close();
  await desk.close();
});

/** What differs between the store and Chatwoot, as the oracle sees them. */
const differences = async ({ tenant }: AddedSource, account: number) =>
  difference(await expected(desk.sql, { account }), await stored(store.sql, tenant));

async function settled(sources: readonly AddedSource[]): Promise<void> {
  const found = async () => {
    const all = await Promise.all(sources.map((source, i) => differences(source, i + 1)));
    if (all.some(({ count }) => count > 0)) console.info(JSON.stringify(all.map(({ kinds }) => kinds)));
    return all.map(({ kinds }) => kinds);
  };
  await expect.poll(found, { timeout: 20_000, interval: 500 }).toEqual(sources.map(() => ({})));
}

/** The modes of the sources of two accounts. */
const MODES = [
  ['live', 'poll'],
  ['poll', 'live'],
] as const;
test.each(LONG ? MODES : MODES.slice(0, 1))(
  'a %s source and a %s source of two accounts at rest equal Chatwoot row for row',
  async (first, second) => {
    await desk.grant('live');
    await populate(desk.sql, { conversations: 300, messages: 2_000, seed: 1 });
    const sources = [
      await addSource(store, { address: desk.address(), mode: first }),
      await addSource(store, { address: desk.address(), mode: second, account: 2 }),
    ];
    let gateway = runSources(store);
    await settled(sources);
    // The first load keeps the order of messages: time, then id.
    for (const { tenant } of sources) expect(await misordered(store.sql, tenant)).toEqual([]);
    const running = simulate(rails, { seed: 3, seconds: times(8, 60), rate: 60 });
    for (let i = 0; i < 2; i++) {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      await gateway.stop();
      expect(gateway.errors).toEqual([]);
      gateway = runSources(store);
    }
    await running;
    const polled = first === 'poll' ? sources[0] : sources[1];
    if (polled) await askComparison(store.db, polled.id);
    await settled(sources);
    expect(gateway.errors).toEqual([]);
    await gateway.stop();
  },
  180_000,
);
