import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** What a test has counted, for the summary: it sets `task.meta.shown`, before it expects anything of it. */
export interface Shown {
  /** Of the grid of authority (checks, TN-01): judged, and how many there are. */
  readonly cells?: readonly [judged: number, all: number];
  /** Of the fuzz. */
  readonly inputs?: { readonly asked: number; readonly '5xx': number; readonly leaks: number };
  /** Effects that were done twice, and what was acknowledged or journalled and not found. */
  readonly doubles?: number;
  readonly missed?: number;
  /** Defects that the test plants, as its option `meta`: found where it passes. */
  readonly planted?: number;
}

/** The faults of the checks (section 15). */
const FAULTS = Array.from({ length: 26 }, (_, i) => `F-${String(i + 1).padStart(2, '0')}`);

declare module 'vitest' {
  interface TaskMeta {
    shown?: Shown;
  }
}

const sum = (all: readonly number[]): number => all.reduce((total, n) => total + n, 0);

/** Closes the run with what it has shown, and the one line that a CI reads: `N passed, N failed`. */
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
    // Those that were not chosen do not count.
    const ran = tests.filter((test) => test.result().state !== 'skipped');
    // By their ids: one stands where a test names it and every test that does has passed.
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
