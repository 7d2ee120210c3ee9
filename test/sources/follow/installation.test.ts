import type postgres from 'postgres';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { chatwootGrants } from '../../../src/sources/chatwoot/grants.ts';
import { message, put, seed } from '../../support/chatwoot/source-rows.ts';
import { type ChatwootWorld, chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { type AddedSource, addSource, keys, runSources } from '../../support/sources.ts';

let store: TestDatabase;
let one: ChatwootWorld;
let other: ChatwootWorld;
let source: AddedSource;
let gateway: ReturnType<typeof runSources>;

const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const world of opened.splice(0).reverse()) await world.close();
});
beforeEach(async () => {
  one = await chatwootWorld();
  opened.push(one);
  await one.grant('poll');
  await seed(one.sql);
});

/** Two Chatwoots with the account 1. The role of the first one may read the second one too. */
async function follows(): Promise<void> {
  store = await freshDatabase();
  other = await chatwootWorld();
  opened.push(other, store);
  await message(one.sql, 1, { content: 'of the first' });
  await seed(other.sql);
  await other.sql`UPDATE accounts SET created_at = created_at + interval '1 microsecond', name = 'Taker'`;
  await message(other.sql, 1, { content: 'of the other', updated_at: 'now' });
  await other.sql.unsafe(chatwootGrants({ role: one.role, mode: 'poll' }));
  source = await addSource(store, { address: one.address(), mode: 'poll' });
  gateway = runSources(store);
  opened.push({
    close: async () => {
      await gateway.stop();
      await other.sql.unsafe(`DROP OWNED BY ${one.role}`);
    },
  });
  await expect.poll(texts).toEqual(['of the first']);
  await expect.poll(async () => (await source.state()).state).toBe('following');
}

const texts = async (): Promise<string[]> =>
  (await store.sql<{ text: string }[]>`SELECT text FROM platform.message ORDER BY id`).map(({ text }) => text);
const refused = async (): Promise<void> => {
  await expect.poll(async () => (await source.state()).last_error).toContain('another helpdesk');
};
const leadTo = async (address: string): Promise<void> => {
  await gateway.stop();
  await store.sql`UPDATE gateway.source SET address = ${keys.seal('source', address)}`;
  gateway = runSources(store);
};
/** Lets the address of the first Chatwoot lead to the database `name`, as a changed DNS record does. */
async function swap(admin: postgres.Sql, name: string): Promise<void> {
  const { database } = one;
  await admin.unsafe(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname IN ('${database}', '${name}') AND pid <> pg_backend_pid()`);
  await admin.unsafe(`ALTER DATABASE ${database} RENAME TO ${database}_x`);
  await admin.unsafe(`ALTER DATABASE ${name} RENAME TO ${database}`);
  await admin.unsafe(`ALTER DATABASE ${database}_x RENAME TO ${name}`);
}

test('a source whose address leads to another Chatwoot at its start writes nothing, and follows again afterwards', async () => {
  await follows();
  await leadTo(other.address(one.role));
  await refused();
  const { findings } = await source.state();
  expect(findings).toContainEqual(expect.objectContaining({ level: 'refused', about: 'installation' }));
  expect(findings.at(-1)?.text).toContain('source remove with --with-data');
  expect(await texts()).toEqual(['of the first']);
  await leadTo(one.address());
  await message(one.sql, 2, { content: 'later', updated_at: 'now' });
  await expect.poll(texts).toEqual(['of the first', 'later']);
  expect(await store.sql`SELECT name FROM platform.website`).toEqual([{ name: 'Northwind' }]);
});

test('no page is written when the address leads to another Chatwoot between two checks', async () => {
  await follows();
  const admin = store.sql;
  await swap(admin, other.database);
  await refused();
  expect(await texts()).toEqual(['of the first']);
  expect(await store.sql`SELECT name FROM platform.website`).toEqual([{ name: 'Northwind' }]);
  await swap(admin, other.database);
  await expect.poll(async () => (await source.state()).state).toBe('following');
  expect(await texts()).toEqual(['of the first']);
});

test('a Chatwoot that was restored from a copy is the same', async () => {
  await follows();
  const copy = `${one.database}_copy`;
  await gateway.stop();
  await store.sql.unsafe(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${one.database}'`);
  await store.sql.unsafe(`CREATE DATABASE ${copy} TEMPLATE ${one.database}`);
  try {
    await leadTo(`${one.address()}_copy`);
    await message(one.sql, 3, { content: 'only in the old one', updated_at: 'now' });
    const began = new Date();
    await expect
      .poll(async () => ((await source.state()).last_success_at ?? new Date(0)) > began, { timeout: 20_000 })
      .toBe(true);
    expect((await source.state()).last_error).toBeNull();
    expect(await texts()).toEqual(['of the first']);
  } finally {
    await gateway.stop();
    await store.sql.unsafe(`DROP DATABASE ${copy} WITH (FORCE)`);
  }
});

test('the own identifier of Chatwoot counts where the role can read it, as an object and as YAML', async () => {
  const uuid = '7d9f4c1e-58a3-4a5e-9d57-3f0c6d1b2a90';
  await one.sql.unsafe(
    `CREATE TABLE installation_configs (id bigserial, name text, serialized_value jsonb, locked boolean DEFAULT true)`,
  );
  const seen = async (role = 'postgres') => {
    const { account, identifier } = await one.open({ mode: 'poll', address: one.address(role) }).installation();
    expect(account).toMatch(/^[0-9a-f]{64}$/);
    return identifier;
  };
  expect(await seen()).toBeUndefined();
  await put(one.sql, 'installation_configs', { name: 'INSTALLATION_IDENTIFIER', serialized_value: { value: uuid } });
  const first = await seen();
  expect(first).toMatch(/^[0-9a-f]{64}$/);
  await one.sql`UPDATE installation_configs SET serialized_value = to_jsonb(${`--- !ruby/hash:ActiveSupport::HashWithIndifferentAccess\nvalue: ${uuid}\n`}::text)`;
  expect(await seen()).toBe(first);
  // The grants give no right on this table, because it holds secrets.
  await one.grant('live');
  expect(await seen(one.role)).toBeUndefined();
});
