import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { clearMoved, type Emptied } from '../../../src/store/cells/ends.ts';
import type { MoveSides } from '../../../src/store/cells/hold.ts';
import { moveOrganization } from '../../../src/store/cells/move.ts';
import { StoreUnreachable } from '../../../src/store/driver/errors.ts';
import { type Database, openDatabase } from '../../../src/store/driver/postgres.ts';
import {
  BASE_URL,
  type Cell,
  type Cells,
  type Ended,
  findings,
  leftovers,
  move,
  moveUntil,
  number,
  openCells,
  organizationCommand,
  organizationProcess,
} from '../../support/cells.ts';
import { closeClusters } from '../../support/cluster.ts';
import { KEYS } from '../../support/keys.ts';

/** What an operator can do wrong with a move, or what a disk can do to it, costs no row of a living organization. */
let cells: Cells;
beforeEach(async () => {
  await closeClusters();
  cells = await openCells();
});
afterAll(closeClusters);

const messages = async ({ sql }: Cell, tenant = 1): Promise<number> =>
  Number((await sql`SELECT count(*) AS n FROM platform.message WHERE tenant = ${tenant}`)[0]?.['n']);

const abandonFrom = (from: Cell, to: Cell): Promise<Ended> =>
  organizationCommand(['move', 'larkspur', '--to', to.url, '--abandon', '--yes', '--json'], { DATABASE_URL: from.url });

it('--abandon in the wrong cell, or with the address of the own one, deletes nothing', async () => {
  const { source, target } = cells;
  const all = await messages(source);
  expect((await moveUntil(cells, 'guarded')).signal).toBe('SIGKILL');
  await number(target, 1);
  expect(await abandonFrom(target, source)).toMatchObject({ code: 1, stderr: expect.stringContaining('is arriving') });
  await number(target, 2);
  expect(await abandonFrom(source, source)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('another PostgreSQL'),
  });
  // As if the source had lost the commit of the move, and the organization lived at the target.
  await target.sql`UPDATE platform.organization SET moved_to = NULL WHERE tenant = 1`;
  expect(await abandonFrom(source, target)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('lives at the target'),
  });
  expect(await Promise.all([messages(source), messages(target)])).toEqual([all, all]);
});

it('--abandon works at the source while the target is away, and later deletes the copy there', async () => {
  const { source, target } = cells;
  expect((await moveUntil(cells, 'guarded')).signal).toBe('SIGKILL');
  await target.cluster.kill();
  expect(await abandonFrom(source, target)).toMatchObject({ code: 1, stderr: expect.stringContaining('undone here') });
  expect(await source.sql`SELECT FROM pg_replication_slots`).toHaveLength(0);
  expect(await source.sql`SELECT FROM gateway.move`).toHaveLength(0);
  await target.cluster.start();
  expect(await abandonFrom(source, target)).toMatchObject({ code: 0 });
  expect(await leftovers(cells)).toEqual([]);
  expect([await messages(source), await messages(target)]).toEqual([2_271, 0]);
  expect(await abandonFrom(source, target)).toMatchObject({ code: 1, stderr: expect.stringContaining('has begun') });
});

it('a target that has lost its data after the commit is told, and the rows at the source stay', async () => {
  const { source, target } = cells;
  expect((await moveUntil(cells, 'left')).signal).toBe('SIGKILL');
  await target.sql`DELETE FROM gateway.move`;
  await target.sql`DELETE FROM platform.organization WHERE tenant = 1`;
  expect(await move(cells)).toMatchObject({ code: 1, stderr: expect.stringContaining('has lost data') });
  expect(await source.sql`SELECT FROM gateway.move WHERE NOT cleared AND keep_until IS NULL`).toHaveLength(1);
  // As docs/move-organization.md says.
  await source.sql`UPDATE gateway.move m SET phase = 'copying' FROM platform.organization o
     WHERE o.tenant = m.tenant AND o.external_id = 'larkspur'`;
  await source.sql`UPDATE platform.organization SET moved_to = NULL WHERE external_id = 'larkspur'`;
  await source.sql`UPDATE platform.contact SET name = 'Written again' WHERE (tenant, site, id) = (1, 1, 1)`;
  expect(await abandonFrom(source, target)).toMatchObject({ code: 0 });
  expect(await leftovers(cells)).toEqual([]);
  expect(await messages(source)).toBe(2_271);
});

it('a connection that is lost between the two commits is told in a sentence, and the same command ends the move', async () => {
  const { source, target } = cells;
  const open = (side: keyof Cells, name: string, statementTimeout: number): Database =>
    openDatabase({ target: cells[side].url, connections: 1, statementTimeout, name });
  const sides: MoveSides = {
    ...{ tenant: '1', source: open('source', 'test', 60_000), target: open('target', 'test', 60_000), open },
    sameKey: (one, other) => one === other,
    at: (step) => {
      if (step === 'left') throw new StoreUnreachable('planted');
    },
  };
  const lost = moveOrganization({
    ...{ sides, from: source.url, baseUrl: BASE_URL, keepDays: 7, keepGiven: false },
    ...{ say: () => undefined, progress: () => undefined },
  });
  await expect(lost).rejects.toThrow(
    'has left this cell, but it could not be opened in the other one. Run the command again at once',
  );
  await Promise.all([sides.source.close(), sides.target.close()]);
  const livesAt = (cell: Cell): Promise<object[]> =>
    cell.sql`SELECT FROM platform.organization WHERE tenant = 1 AND moved_to IS NULL`;
  expect([await livesAt(source), await livesAt(target)].flat()).toEqual([]);
  expect(await move(cells)).toMatchObject({ code: 0 });
  expect(await livesAt(target)).toHaveLength(1);
});

it('a first erasure during the copy stops the hold, because its key is another one at the target', async () => {
  const { source, target } = cells;
  expect((await moveUntil(cells, 'guarded')).signal).toBe('SIGKILL');
  await source.sql`INSERT INTO gateway.suppression_key (sealed) VALUES (${KEYS.seal('suppression', 'one')})`;
  await source.sql`INSERT INTO gateway.suppression (tenant, digest) VALUES (1, ${Buffer.alloc(32)})`;
  expect(await move(cells)).toMatchObject({ code: 1, stderr: expect.stringContaining('different suppression keys') });
  expect(await source.sql`SELECT moved_to FROM platform.organization WHERE tenant = 1`).toEqual([{ moved_to: null }]);
  await source.sql`UPDATE platform.contact SET name = 'Written again' WHERE (tenant, site, id) = (1, 1, 1)`;
  await target.sql`INSERT INTO gateway.suppression_key (sealed) VALUES (${KEYS.seal('suppression', 'one')})`;
  expect(await move(cells)).toMatchObject({ code: 0 });
});

it('what an equal comparison has said holds when the command dies after it', async () => {
  expect((await moveUntil(cells, 'compared')).signal).toBe('SIGKILL');
  expect(JSON.parse((await move(cells, '--keep', '3')).stdout)).toMatchObject({
    digests_equal: null,
    deleted_after: expect.any(String),
  });
  expect((await findings(cells)).filter(({ check }) => check === 'kept_rows')).toEqual([]);
});

it('a target of several hosts that refuses writes between the two commits is waited for', async () => {
  const { source, target } = cells;
  expect((await moveUntil(cells, 'left')).signal).toBe('SIGKILL');
  const readOnly = (on: boolean): Promise<unknown> =>
    target.sql.unsafe(`ALTER DATABASE gateway SET default_transaction_read_only = ${on}`);
  await readOnly(true);
  const port = target.cluster.port;
  const hosts = target.url.replace(`127.0.0.1:${port}`, `127.0.0.1:9,127.0.0.1:${port}`);
  const ends = organizationProcess(['move', 'larkspur', '--to', hosts, '--base-url', BASE_URL, '--yes', '--json'], {
    DATABASE_URL: source.url,
  });
  const early = await Promise.race([ends, pause(4_000)]);
  expect(early).toBeUndefined();
  await target.sql`SET default_transaction_read_only = off`;
  await readOnly(false);
  await target.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'gateway-move%'`;
  expect(await ends).toMatchObject({ code: 0 });
});

it('rows that were not compared are kept until the command is run once more', async () => {
  const { source } = cells;
  expect((await moveUntil(cells, 'left')).signal).toBe('SIGKILL');
  const ended = await move(cells, '--keep', '0');
  expect(JSON.parse(ended.stdout)).toMatchObject({ digests_equal: null, deleted_after: null });
  const db = openDatabase({ target: source.url, connections: 1, statementTimeout: 30_000, name: 'test' });
  const emptied: Emptied = new Map();
  expect(await clearMoved(db, emptied)).toBe(0);
  const kept = async (): Promise<unknown[]> =>
    (await findings(cells)).filter(({ check, detail }) => check === 'kept_rows' && detail.includes('--keep 7'));
  expect(await kept()).toHaveLength(1);
  const again = await move(cells, '--keep', '0');
  expect(JSON.parse(again.stdout)).toMatchObject({ deleted_after: expect.any(String) });
  expect(await kept()).toEqual([]);
  while ((await source.sql`SELECT FROM gateway.move`).length > 0) await clearMoved(db, emptied);
  await db.close();
  // Its own row stays: it leads callers to the new cell, and no import makes the organization anew.
  expect(await messages(source)).toBe(0);
  expect(await source.sql`SELECT moved_to FROM platform.organization WHERE tenant = 1`).toEqual([
    { moved_to: BASE_URL },
  ]);
  // It may come back, and an abandoned return leaves that row as it was.
  const back = (...more: string[]): Promise<Ended> =>
    organizationCommand(
      ['move', 'larkspur', '--to', source.url, '--base-url', 'https://cell1.example.com', '--yes', '--json', ...more],
      { DATABASE_URL: cells.target.url, GATEWAY_CELL: '2' },
    );
  const returning = { source: cells.target, target: source };
  expect((await moveUntil(returning, 'guarded')).signal).toBe('SIGKILL');
  expect(await back('--abandon')).toMatchObject({ code: 0 });
  expect(await source.sql`SELECT moved_to FROM platform.organization WHERE tenant = 1`).toEqual([
    { moved_to: BASE_URL },
  ]);
  const returned = await back();
  expect(returned, returned.stderr).toMatchObject({ code: 0 });
  expect(await messages(source)).toBe(2_271);
  expect(await source.sql`SELECT moved_to FROM platform.organization WHERE tenant = 1`).toEqual([{ moved_to: null }]);
  expect(await leftovers(cells)).toEqual([]);
});
