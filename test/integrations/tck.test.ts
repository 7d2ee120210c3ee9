import { afterAll, beforeAll, expect, it } from 'vitest';
import { prepared } from '../support/acts/behaviours.ts';
import { isMembers } from '../support/acts/matching.ts';
import { issue } from '../support/credentials.ts';
import { type Served, serve } from '../support/hostile/served.ts';
import { freePort } from '../support/port.ts';
import { holdContacts } from '../support/surfaces/slow-work.ts';
import { type Category, openAdapter, readReport, runTck } from '../support/tck.ts';
import { FAULTS } from '../support/tck-judged.ts';

/**
 * The TCK of the A2A project against a gateway process with the demo. TCK_DIR names a checkout of a2aproject/a2a-tck, and
 * TCK_PYTHON a Python with its packages. Without TCK_DIR, only the reader of its report is tested.
 */
const { TCK_DIR } = process.env;

let served: Served;
let adapter: Awaited<ReturnType<typeof openAdapter>>;

/**
 * The TCK says by a message's id what the agent shall do. Its lists need tasks that work, so these messages name a skill
 * and do not wait. Everything else goes on as it is.
 */
async function adapted(body: string): Promise<string | undefined> {
  const sent: unknown = JSON.parse(body);
  const params = isMembers(sent) && isMembers(sent['params']) ? sent['params'] : {};
  const message = isMembers(params['message']) ? params['message'] : {};
  const [, kind] = /(list-test|test-resubscribe)/.exec(String(message['messageId'])) ?? [];
  if (!isMembers(sent) || kind === undefined) return undefined;
  const { params: named } = prepared({ ...params, message: { ...message, parts: [{ text: 'tck-complete-task' }] } });
  await holdContacts(served.database.sql, kind === 'list-test' ? 500 : 2_500);
  const configuration = { ...(isMembers(params['configuration']) && params['configuration']), returnImmediately: true };
  return JSON.stringify({ ...sent, params: { ...named, configuration } });
}

beforeAll(async () => {
  const port = await freePort();
  adapter = await openAdapter(port, (body) => adapted(body).catch(() => undefined));
  served = await serve({ PORT: String(port), GATEWAY_BASE_URL: adapter.origin });
});
afterAll(async () => {
  await adapter?.close();
  await served?.close();
});

it('reads the report: what passed, failed and was skipped, each with the first line of its reason', () => {
  const report = `<testsuites><testsuite name="pytest">
    <testcase classname="tests.mandatory.test_one" name="test_passes" time="0.1"/>
    <testcase classname="tests.mandatory.test_one.TestClass" name="test_fails"><failure message="assert 1 == 2&#10;more">text</failure></testcase>
    <testcase classname="tests.optional.test_two" name="test_skipped"><skipped type="pytest.skip" message="Not &quot;declared&quot;"/></testcase>
    <testcase classname="tests.optional.test_two" name="test_broken"><error message="no fixture"/></testcase>
  </testsuite></testsuites>`;
  expect(readReport(report)).toEqual([
    { test: 'test_one.test_passes', outcome: 'passed', reason: '' },
    { test: 'test_one.test_fails', outcome: 'failed', reason: 'assert 1 == 2' },
    { test: 'test_two.test_skipped', outcome: 'skipped', reason: 'Not "declared"' },
    { test: 'test_two.test_broken', outcome: 'failed', reason: 'no fixture' },
  ]);
});

const CATEGORIES: readonly Category[] = TCK_DIR === undefined ? [] : ['mandatory', 'capabilities'];

it.each(CATEGORIES)(
  'the tests of the category %s: no test fails, but those that contradict A2A',
  async (category) => {
    const results = await runTck({
      folder: TCK_DIR ?? '',
      url: `${adapter.origin}/a2a`,
      issue: async () => (await issue(served.database.sql, 1)).token,
      category,
    });
    const count = (outcome: string): number => results.filter((one) => one.outcome === outcome).length;
    const others = results.filter(({ outcome }) => outcome !== 'passed');
    console.info(
      `TCK ${category}: ${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`,
      others.map(({ outcome, test, reason }) => `${outcome.padEnd(8)} ${test}: ${reason}`).join('\n'),
    );
    expect(results.length).toBeGreaterThan(50);
    const failed = results.filter(({ outcome }) => outcome === 'failed');
    expect(
      failed.filter(({ test }) => !(test in FAULTS[category])).map(({ test, reason }) => `${test}: ${reason}`),
    ).toEqual([]);
    // A fault that no longer fails is not a fault.
    expect(Object.keys(FAULTS[category]).filter((test) => !failed.some((one) => one.test === test))).toEqual([]);
  },
  300_000,
);
