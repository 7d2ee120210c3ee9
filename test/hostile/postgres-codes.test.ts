import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { seed } from '../support/chatwoot/source-rows.ts';
import { chatwootWorld } from '../support/chatwoot/source-world.ts';
import { freshDatabase } from '../support/database.ts';
import { hostileServer, message, noticeOf } from '../support/hostile/postgres-server.ts';
import { type AddedSource, addSource, keys, runSources } from '../support/sources.ts';

/** GW001 says in the gateway's own store that a lease is lost, and GW003 that another import runs. */
const TOLD = {
  gw001: 'Reading the source failed. The gateway tries again.',
  gw003: 'Reading the source failed. The gateway tries again.',
  '25006': 'Reading the source failed (25006). The gateway tries again.',
  '57p01': 'The database of the helpdesk cannot be reached. The gateway tries again.',
};
const CODES = Object.keys(TOLD);

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});
function closing<Opened extends { close(): Promise<void> }>(one: Opened): Opened {
  opened.push(() => one.close());
  return one;
}

test('no code with which a helpdesk answers its statements hides the error, and its source is tried again after pauses', async () => {
  const store = closing(await freshDatabase());
  const desk = closing(await chatwootWorld());
  // The name of the database is the code of the first answer of each connection.
  const server = closing(
    await hostileServer((name) => ({
      stage: 'simple',
      auth: 'trust',
      change: () => ({
        bytes: Buffer.concat([noticeOf('E', name.toUpperCase()), message('Z', 'I')]),
        after: 'silence',
      }),
    })),
  );
  await desk.grant('poll');
  await seed(desk.sql);
  const sources = await Promise.all(
    CODES.map((organization) => addSource(store, { address: desk.address(), mode: 'poll', organization })),
  );
  for (const [i, { id }] of sources.entries()) {
    const address = keys.seal('source', `postgres://u:x@127.0.0.1:${server.port}/${CODES[i]}`);
    await store.sql`UPDATE gateway.source SET address = ${address} WHERE id = ${id}`;
  }
  const { errors, stop } = runSources(store);
  opened.push(stop);
  const stateOf = async ({ state }: AddedSource): Promise<unknown> => {
    const { state: now, last_error } = await state();
    return now === 'failing' ? last_error : now;
  };
  await expect.poll(() => Promise.all(sources.map(stateOf))).toEqual(Object.values(TOLD));
  expect(errors.length).toBeGreaterThanOrEqual(CODES.length);
  const before = CODES.map((code) => server.connections(code));
  await pause(6_000);
  const more = CODES.map((code, i) => server.connections(code) - (before[i] ?? 0));
  console.info(`connections in 6 s: ${more.join(', ')}`);
  // The pauses are 1, 2, 4 and then 5 seconds.
  for (const count of more) expect(count).toBeLessThanOrEqual(4);
});
