import v8, { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAuthorities } from '../../src/auth/authority.ts';
import { type Fragment, join, raw, sql } from '../../src/core/sql.ts';
import { issue } from '../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';

/** What a statement brings is collected young: what grows old waits for a major collection, which all requests pay. */
let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase('demo');
});
afterAll(() => database.close());

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');
const old = (): number =>
  v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? Number.NaN;

/** MiB that grow old with so many statements. */
async function growth(n: number, statement: () => Fragment): Promise<number> {
  const many = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) expect(await database.db.query(statement())).not.toHaveLength(0);
  };
  await many(200);
  if (typeof collect === 'function') collect();
  const before = old();
  await many(n);
  return (old() - before) / 2 ** 20;
}

it('rows do not outlive their statement: 26 MB of them', async () => {
  const rows = () =>
    sql`SELECT i AS id, repeat('x', 200) || i AS body, now() AS at FROM generate_series(1, 50) AS i WHERE i > ${0}`;
  expect(await growth(2_000, rows)).toBeLessThan(12);
});

it('nor does its text, which is the same for all: 20 MB of it', async () => {
  const columns = () =>
    join(
      [...Array(600).keys()].map((i) => sql`${0}::integer AS ${raw(`column_${i}`)}`),
      ', ',
    );
  const text = () => sql`SELECT 1 AS one FROM (SELECT ${columns()}) wide`;
  expect(await growth(600, text)).toBeLessThan(12);
});

it('an authority that is read anew is the same object until something has changed', async () => {
  const authorities = openAuthorities(database.db);
  const { token, credential } = await issue(database.sql, 1);
  const { authority } = await authorities.resolve(token, 'rest');
  expect(await authorities.fresh(token, 'mcp')).toBe(authority);
  await database.sql`UPDATE gateway.credential SET scopes = array_remove(scopes, 'contact_read') WHERE id = ${credential}`;
  const changed = await authorities.fresh(token, 'rest');
  expect(authority.scopes.has('contact_read')).toBe(true);
  expect(changed.scopes.has('contact_read')).toBe(false);
  expect(await authorities.resolve(token, 'rest')).toEqual({ authority: changed, fresh: false });
});
