import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { DEMO_NOW } from '../support/postgres.ts';
import { type Attempt, attempt, type Desk, plant, type ServerKind } from './desk.ts';
import { following, SOLUTIONS } from './solver.ts';
import { TASKS } from './tasks.ts';

let gateway: TestGateway;
let desk: Desk;
beforeAll(async () => {
  gateway = await openTestGateway('demo');
  const { sql, db } = gateway.database;
  desk = { url: `http://127.0.0.1:${gateway.port}`, sql, db };
  await plant(desk, new Date(DEMO_NOW));
});
afterAll(() => gateway.close());

const solved = async (server: ServerKind): Promise<Attempt[]> => {
  const all: Attempt[] = [];
  for (const task of TASKS) {
    const trial = { server, path: '/mcp', run: 1 };
    all.push(await attempt(desk, task, trial, following(SOLUTIONS[server][task.id])));
  }
  return all;
};

it.each(['mcp', 'plain'] as const)('the scripted solver solves over %s', async (server) => {
  const all = await solved(server);
  for (const a of all)
    console.log(
      [
        a.task.padEnd(26),
        a.passed ? 'ok' : 'NO',
        a.inBudget,
        a.calls,
        a.opening,
        a.received,
        a.read,
        a.message.slice(0, 110),
        a.fault?.slice(0, 300),
        a.missing,
        a.forbidden,
        a.db,
        a.seconds.toFixed(2),
      ].join(' | '),
    );
  expect(all.filter((a) => !a.passed).map((a) => a.task)).toEqual([]);
});
