import { configDefaults, defineConfig } from 'vitest/config';
import { COMPILED, compiled } from './test/support/compiled.ts';
import Order from './test/support/order.ts';
import { filesOf } from './test/support/suites.ts';

// The modes `quick`, `test` (everything) and `rest`: see test/support/suites.ts.
export default defineConfig(({ mode }) => {
  const of = {
    // A timeout only ends a test that hangs. A test judges times by bounds of its own. A machine can be three times as
    // slow as another one for hours (28 November 2026).
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
    server: { deps: { external: [COMPILED] } },
    setupFiles: ['test/support/each-file.ts'],
    env: { LOG_LEVEL: 'silent', ...((mode === 'quick' || mode === 'rest') && { TEST_FORM: mode }) },
  };
  const { own, shared } = filesOf(mode);
  const without = [...configDefaults.exclude];
  return {
    test: {
      // The second run of a checkout takes its compiled sources from the disk (measured: 42 to 52 s for 50 to 54 s).
      experimental: { fsModuleCache: true },
      globalSetup: ['test/support/postgres.ts'],
      reporters: ['default', './test/support/clients.ts', './test/support/summary.ts'],
      sequence: { sequencer: Order },
      // The test machine has two cores. A test waits half of its time, so three workers left the cores idle for a quarter of it.
      maxWorkers: 4,
      projects: [
        {
          plugins: [compiled],
          test: { ...of, name: 'own', include: own.include, exclude: [...without, ...own.exclude] },
        },
        // To load the program again for each file takes three seconds of processor time (26 November 2026).
        {
          plugins: [compiled],
          test: {
            ...of,
            name: 'shared',
            isolate: false,
            include: shared.include,
            exclude: [...without, ...shared.exclude],
          },
        },
      ],
    },
  };
});
