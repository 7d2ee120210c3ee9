import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { digestRows } from '../../../src/store/cells/rows.ts';
import { partsOf } from '../../../src/store/cells/tables.ts';
import { openDatabase } from '../../../src/store/driver/postgres.ts';
import { type Cell, type Cells, leftovers, move, moveProcess, moveUntil, openCells } from '../../support/cells.ts';
import { closeClusters } from '../../support/cluster.ts';
import { LONG } from '../../support/form.ts';

/** A move whose command, target or source dies at any step. The same command ends it, or `--abandon` undoes it. */
let cells: Cells;
beforeEach(async () => {
  await closeClusters();
  cells = await openCells();
});
afterAll(closeClusters);

/** Steps before the commit at the source, in order, and after it. */
const BEFORE = [
  'marked',
  'arriving',
  'published',
  'subscribed',
  'copying',
  'followed',
  'guarded',
  'held',
  'met',
  'copied',
  'counted',
];
const AFTER = ['left', 'unsubscribed'];

const placeOf = async ({ sql }: Cell): Promise<string> => {
  const [row] = await sql<{ place: string }[]>`
    SELECT CASE WHEN moved_to IS NULL THEN 'here' ELSE 'elsewhere' END AS place FROM platform.organization WHERE tenant = 1`;
  return row?.place ?? 'absent';
};
const places = (): Promise<string[]> => Promise.all([placeOf(cells.source), placeOf(cells.target)]);

async function sums({ url }: Cell, replicated: boolean): Promise<unknown> {
  const db = openDatabase({ target: url, connections: 1, statementTimeout: 30_000, name: 'test' });
  const parts = partsOf('1').filter((one) => one.copied !== replicated);
  const found = await digestRows(db, parts);
  await db.close();
  return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

it('its command is killed at each step: never two cells serve, and the same command ends the move', async () => {
  const before = await sums(cells.source, false);
  for (const step of [...BEFORE, ...AFTER]) {
    expect((await moveUntil(cells, step)).signal, step).toBe('SIGKILL');
    expect((await places()).filter((one) => one === 'here').length, step).toBeLessThanOrEqual(1);
  }
  expect(await move(cells)).toMatchObject({ code: 0 });
  expect(await places()).toEqual(['elsewhere', 'here']);
  expect(await sums(cells.target, true)).toEqual(await sums(cells.source, true));
  expect(await sums(cells.target, false)).toEqual(before);
  expect(await leftovers(cells)).toEqual([]);
});

it('its command is killed at each step before the end, and abandoned: nothing is left', async () => {
  const before = [await sums(cells.source, false), await sums(cells.source, true)];
  const empty = [await sums(cells.target, false), await sums(cells.target, true)];
  for (const step of BEFORE) {
    expect((await moveUntil(cells, step)).signal, step).toBe('SIGKILL');
    expect(await move(cells, '--abandon'), step).toMatchObject({ code: 0 });
    expect(await leftovers(cells), step).toEqual([]);
    expect(await places(), step).toEqual(['here', 'absent']);
    expect([await sums(cells.target, false), await sums(cells.target, true)], step).toEqual(empty);
  }
  expect([await sums(cells.source, false), await sums(cells.source, true)]).toEqual(before);
});

const SERVERS = [
  ['target', 'copying', 0],
  ['target', 'guarded', 40],
  ['target', 'guarded', 160],
  ['source', 'copying', 0],
  ['source', 'guarded', 40],
  ['source', 'guarded', 160],
] as const;

// Each takes ten seconds, so the short form has one of each side.
it.each(SERVERS.filter(([, , ms]) => LONG || ms === 40))(
  'its %s is killed after the step %s: the same command ends the move (%i ms)',
  async (side, step, ms) => {
    await moveUntil(cells, step);
    const moving = moveProcess(cells);
    // The command needs about 0.3 s to begin.
    await pause(330 + ms);
    await cells[side].cluster.kill();
    await pause(150);
    await cells[side].cluster.start();
    await moving;
    expect((await places()).filter((one) => one === 'here').length).toBeLessThanOrEqual(1);
    const ended = await move(cells);
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    expect(await places()).toEqual(['elsewhere', 'here']);
    expect(await sums(cells.target, true)).toEqual(await sums(cells.source, true));
    expect(await leftovers(cells)).toEqual([]);
  },
);
