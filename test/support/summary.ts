import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** The counts that a test adds to the summary. The test sets `task.meta.shown` before its expectations. */
export interface Shown {
  /** The cells of the authority grid (TN-01): the number of checked cells and the number of all cells. */
  readonly cells?: readonly [judged: number, all: number];
  readonly inputs?: { readonly asked: number; readonly '5xx': number; readonly leaks: number };
  /** `doubles`: effects that happened twice. `missed`: acknowledged or journalled effects that do not exist. */
  readonly doubles?: number;
  readonly missed?: number;
  /**
   * The number of defects that the test plants, from the test's option `meta`. The test passes only when it finds all
   * these defects.
   */
  readonly planted?: number;
}

const FAULTS = Array.from({ length: 26 }, (_, i) => `F-${String(i + 1).padStart(2, '0')}`);

declare module 'vitest' {
  interface TaskMeta {
    shown?: Shown;
  }
}

const sum = (all: readonly number[]): number => all.reduce((total, n) => total + n, 0);

/** Ends the run with the counts of its tests and with the line that CI reads: `N passed, N failed`. */
export default class Summary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string): number => tests.filter((test) => test.result().state === state).length;
    const shown = tests.map((test) => test.meta().shown ?? {});
    const parts = shown.flatMap(({ cells, inputs }) => [
      ...(cells ? [`cells ${cells.join('/')}`] : []),
      ...(inputs ? [`inputs ${inputs.asked}, 5xx ${inputs['5xx']}, leaks ${inputs.leaks}`] : []),
    ]);
    const passed = (test: TestCase): boolean => test.result().state === 'passed';
    const ran = tests.filter((test) => test.result().state !== 'skipped');
    // Each fault has an id. A fault counts as passed when every test that names the id has passed.
    const named = FAULTS.map((id) => ran.filter(({ fullName }) => new RegExp(`\\b${id}\\b`).test(fullName)));
    const counted = (['doubles', 'missed'] as const).flatMap((what) => {
      const all = shown.flatMap((one) => one[what] ?? []);
      return all.length > 0 ? [`${what} ${sum(all)}`] : [];
    });
    if (named.some(({ length }) => length > 0)) {
      const stood = named.filter((all) => all.length > 0 && all.every(passed)).length;
      parts.push([`faults ${stood}/${FAULTS.length}`, ...counted].join(', '));
    }
    const planted = (all: readonly TestCase[]): number => sum(all.map((test) => test.meta().shown?.planted ?? 0));
    if (planted(ran) > 0) parts.push(`planted defects ${planted(ran.filter(passed))}/${planted(ran)}`);
    if (parts.length > 0) process.stdout.write(`${parts.join(' · ')}\n`);
    process.stdout.write(`${count('passed')} passed, ${count('failed')} failed\n`);
  }
}
