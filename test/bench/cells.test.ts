import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';
import { planFor, readLoad, tableOf } from './cells.ts';
import { CELL, CONNECTIONS, COSTS } from './figures.ts';

const DEFAULTS = { organizations: '1,100,1000,10000', requests: '0.2', messages: '200000', growth: '300' };
const load = readLoad(DEFAULTS);

it('the shares of the mix add up to 100', () => {
  expect(Object.values(COSTS).reduce((sum, { share }) => sum + share, 0)).toBe(100);
});

it('one organization needs one cell, and a cell never exceeds what a primary may become', () => {
  expect(planFor(1, load)).toMatchObject({ cells: 1, gateways: 1, cores: 1 });
  let before = 0;
  for (const organizations of [1, 10, 100, 1_000, 5_000, 10_000, 100_000]) {
    const { cells, cores, disk, connections } = planFor(organizations, load);
    expect(cells).toBeGreaterThanOrEqual(before);
    before = cells;
    expect(cores / cells).toBeLessThanOrEqual(CELL.cores);
    expect(disk / cells).toBeLessThanOrEqual(CELL.disk);
    // Processes are whole, so a cell can have a process more than its share.
    expect(connections / cells).toBeLessThanOrEqual(CELL.connections + CONNECTIONS);
  }
  expect(before).toBeGreaterThan(1);
});

it('more requests need more gateways, more messages more disk', () => {
  const [plan, busy, full] = [
    planFor(100, load),
    planFor(100, { ...load, requests: 50 }),
    planFor(100, { ...load, messages: 2_000_000 }),
  ];
  expect(busy.gateways).toBeGreaterThan(plan.gateways);
  expect(busy.cores).toBeGreaterThan(plan.cores);
  expect(full.disk).toBeGreaterThan(plan.disk);
  expect(full.gateways).toBe(plan.gateways);
});

it('refuses an option that is no number above 0', () => {
  expect(() => readLoad({ ...DEFAULTS, requests: 'many' })).toThrow('--requests must be a number above 0, not "many".');
  expect(() => readLoad({ ...DEFAULTS, organizations: '1,0' })).toThrow('--organizations');
});

it('docs/scale.md has the rows that the simulation prints', () => {
  const page = readFileSync(new URL('docs/scale.md', packageRoot), 'utf8');
  const rows = tableOf(load);
  expect(rows.length).toBe(1 + load.organizations.length);
  for (const row of rows) expect(page).toContain(`| ${row.join(' | ')} |`);
});
