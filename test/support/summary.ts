import type { Reporter, TestModule } from 'vitest/node';

/** Closes the run with the one line that a CI reads: `N passed, N failed`. */
export default class Summary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string): number => tests.filter((test) => test.result().state === state).length;
    process.stdout.write(`${count('passed')} passed, ${count('failed')} failed\n`);
  }
}
