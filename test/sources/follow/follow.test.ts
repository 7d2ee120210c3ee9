import postgres from 'postgres';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createChatwoot, populate } from '../../support/chatwoot/populate.ts';
import { simulate } from '../../support/chatwoot/simulator.ts';
import { type ChatwootWorld, chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { askComparison } from '../../../src/store/administration/sources.ts';
import { addSource, runSources } from '../../support/sources.ts';

let store: TestDatabase;
let desk: ChatwootWorld;
let rails: postgres.Sql;
beforeEach(async () => {
  store = await freshDatabase();
  desk = await chatwootWorld({ schema: false });
  await createChatwoot(desk.sql);
  rails = postgres({
    host: desk.host,
    port: desk.port,
    database: desk.database,
    username: 'postgres',
    max: 8,
    onnotice: () => undefined,
  });
});
afterEach(async () => {
  await store.close();
  await rails.end();
  await desk.close();
});

test.each(['live', 'poll'] as const)(
  'a %s source is loaded and then followed',
  async (mode) => {
    await desk.grant(mode);
    await populate(desk.sql, { conversations: 300, messages: 2_000, seed: 1 });
    const source = await addSource(store, { address: desk.address(), mode });
    const gateway = runSources(store);
    await expect.poll(async () => (await source.state()).state, { timeout: 20_000 }).toBe('following');
    const count = async () => (await store.sql`SELECT count(*)::integer AS n FROM platform.message`)[0]?.['n'];
    const told = async () =>
      (await desk.sql`SELECT count(*)::integer AS n FROM messages WHERE account_id = 1`)[0]?.['n'];
    console.info(await store.sql`SELECT split_part(origin, '/', 1) AS kind, pointer, code, count(*), min(origin) FROM gateway.source_reject GROUP BY 1,2,3`);
    await simulate(rails, { seed: 3, seconds: 5, rate: 60 });
  if (mode === 'poll') await askComparison(store.db, source.id);
    await expect.poll(count, { timeout: 10_000 }).toBe(await told());
    console.info(await store.sql`SELECT split_part(origin, '/', 1) AS kind, pointer, code, count(*), min(origin) FROM gateway.source_reject GROUP BY 1,2,3`);
  expect(gateway.errors).toEqual([]);
    await gateway.stop();
  },
  60_000,
);
