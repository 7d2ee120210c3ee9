import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readSuite } from '../support/acts/format.ts';
import { FAULTS, SKIPPED } from '../support/acts/judged.ts';
import { runSuites, tableOf } from '../support/acts/report.ts';
import type { Agent } from '../support/acts/run.ts';
import { issue } from '../support/credentials.ts';
import { type Served, serve } from '../support/hostile/served.ts';
import { holdContacts } from '../support/surfaces/slow-work.ts';

/**
 * The A2A conformance tests (ACTS) against a gateway process with the demo. ACTS_DIR names a folder with the suites, such
 * as `tests/acts` of a checkout. Without it, only the small suite beside this file runs. It holds one test of each form
 * that the format has, and a planted failure.
 */
const { ACTS_DIR } = process.env;

let served: Served;
let agent: Agent;
beforeAll(async () => {
  served = await serve();
  const { sql } = served.database;
  agent = {
    origin: served.url,
    issue: async (allowed) => (await issue(sql, 1, allowed ? {} : { scopes: [], dataAccess: [] })).token,
    hold: (milliseconds) => holdContacts(sql, milliseconds),
  };
});
afterAll(() => served?.close());

it('the small suite: each form is read, a wrong expectation fails, and a reason stands for each skip', async () => {
  const folder = fileURLToPath(new URL('../support/acts', import.meta.url));
  const results = await runSuites(agent, readSuite(folder, 'small.acts.yaml'));
  const told = results.map(({ id, outcome, reason }) => [id.replace('SMALL-', ''), outcome, reason.slice(0, 60)]);
  expect(told).toEqual([
    ['SEND', 'passed', ''],
    ['WRONG', 'failed', 'step send: .task.status.state: expected "TASK_STATE_FAILED",'],
    ['POLL', 'passed', ''],
    ['ERROR', 'passed', ''],
    ['NO-ERROR', 'failed', 'step send: expected an error, found undefined'],
    ['STREAM', 'passed', ''],
    ['STREAM-WRONG', 'failed', expect.stringContaining('the last event.status.state: expected "TASK_')],
    ['RAW', 'passed', ''],
    ['BINDING', 'skipped', 'The agent offers no binding grpc.'],
    ['BEHAVIOUR', 'skipped', 'The adapter does not know the behaviour tck-unheard-of.'],
    ['CAPABILITY', 'skipped', 'The card says pushNotifications: false.'],
  ]);
  expect(tableOf(results)).toContain('must: 4 passed, 0 corrected, 3 failed, 2 skipped');
});

it.each(ACTS_DIR === undefined ? [] : [ACTS_DIR])(
  'the suites of %s: no test fails',
  async (folder) => {
    const tests = readSuite(folder);
    const results = await runSuites(agent, tests);
    console.info(`ACTS: ${results.length} tests\n${tableOf(results)}`);
    expect(results.length).toBeGreaterThan(100);
    expect(Object.keys({ ...FAULTS, ...SKIPPED }).filter((id) => !tests.some((test) => test.id === id))).toEqual([]);
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    expect(results.filter(({ outcome, reason }) => outcome === 'skipped' && reason === '')).toEqual([]);
  },
  300_000,
);
