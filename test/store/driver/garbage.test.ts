import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import v8, { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAuthorities } from '../../../src/auth/authority.ts';
import { type Fragment, raw, sql } from '../../../src/core/sql.ts';
import { issue } from '../../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';

/**
 * The garbage collector must be able to free the rows of a statement while the rows are young. Old rows stay until a
 * major collection, which delays all requests.
 */
let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase('demo');
});
afterAll(async () => {
  observer.disconnect();
  await database.close();
});

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');
const old = (): number =>
  v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? Number.NaN;

let majors = 0;
const observer = new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const kind: unknown = 'detail' in entry ? Object(entry.detail).kind : undefined;
    if (kind === constants.NODE_PERFORMANCE_GC_MAJOR) majors++;
  }
});
observer.observe({ entryTypes: ['gc'] });

/**
 * Measures how many MiB grow old during `n` runs of a statement. A major collection falsifies the measurement, so the
 * function then measures again.
 */
async function growth(n: number, each: number, statement: () => Fragment): Promise<number> {
  // Count the rows here. A call of `expect` for each result would keep the rows alive.
  let rows = 0;
  const many = async (times: number): Promise<void> => {
    const before = rows;
    for (let i = 0; i < times; i++) rows += (await database.db.query(statement())).length;
    expect(rows - before).toBe(times * each);
  };
  if (typeof collect !== 'function') throw new Error('no gc');
  await many(200);
  for (let tries = 0; tries < 5; tries++) {
    const told = majors;
    collect();
    await expect.poll(() => majors).toBeGreaterThan(told); // the report of a major collection comes some time after the collection
    const [before, seen] = [old(), majors];
    await many(n);
    const grown = (old() - before) / 2 ** 20;
    await pause(50);
    if (majors === seen) return grown;
  }
  throw new Error('a major collection each time');
}

// Measured in this test: 2 MiB of rows grow old, but 32 MiB when the rows stay in the driver's result object. Measured
// in the next test: 1 MiB grows old, but 15 MiB when each run has a different statement text.
it('rows do not outlive their statement: 26 MB of them', async () => {
  const rows = () =>
    sql`SELECT i AS id, repeat('x', 200) || i AS body, now() AS at FROM generate_series(1, 50) AS i WHERE i > ${0}`;
  expect(await growth(2_000, 50, rows)).toBeLessThan(8);
});

it('nor does its text, which is the same for all: 16 MB of it', async () => {
  const columns = () => raw([...Array(1_600).keys()].map((i) => `1 AS column_${i}`).join(', '));
  const text = () => sql`SELECT ${0}::integer AS one FROM (SELECT ${columns()}) wide`;
  expect(await growth(600, 1, text)).toBeLessThan(8);
});

it('an authority that is read anew is the same object until something has changed', async () => {
  const authorities = openAuthorities(database.db);
  const { token, credential } = await issue(database.sql, 1);
  const { authority } = await authorities.resolve(token, 'rest', undefined);
  expect((await authorities.fresh(token, 'mcp', undefined)).authority).toBe(authority);
  await database.sql`UPDATE gateway.credential SET scopes = array_remove(scopes, 'contact_read') WHERE id = ${credential}`;
  const { authority: changed } = await authorities.fresh(token, 'rest', undefined);
  expect(authority.scopes.has('contact_read')).toBe(true);
  expect(changed.scopes.has('contact_read')).toBe(false);
  expect((await authorities.resolve(token, 'rest', undefined)).authority).toBe(changed);
});
