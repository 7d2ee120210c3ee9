import type { Reporter, TestModule } from 'vitest/node';

/** What a test has counted, for the summary: it sets `task.meta.shown`. */
export interface Shown {
  /** Of the grid of authority (checks, TN-01): judged, and how many there are. */
  readonly cells?: readonly [judged: number, all: number];
  /** Of the fuzz. */
  readonly inputs?: { readonly asked: number; readonly '5xx': number; readonly leaks: number };
  /** Effects that were done twice, and what was acknowledged or journalled and not found. */
  readonly doubles?: number;
  readonly missed?: number;
}

declare module 'vitest' {
  interface TaskMeta {
    shown?: Shown;
  }
}

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
    // The faults of the checks by their ids: one stands where every test that names it has passed.
    const faults = new Map<string, boolean>();
    for (const test of tests)
      for (const [id] of test.fullName.matchAll(/\bF-[0-9]{2}\b/g))
        faults.set(id, test.result().state === 'passed' && faults.get(id) !== false);
    const sum = (of: (one: Shown) => number | undefined): number => shown.reduce((n, one) => n + (of(one) ?? 0), 0);
    const stood = [...faults.values()].filter(Boolean).length;
    const counted = `doubles ${sum(({ doubles }) => doubles)}, missed ${sum(({ missed }) => missed)}`;
    if (faults.size > 0) parts.push(`faults ${stood}/${faults.size}, ${counted}`);
    if (parts.length > 0) process.stdout.write(`${parts.join(' · ')}\n`);
    process.stdout.write(`${count('passed')} passed, ${count('failed')} failed\n`);
  }
}
