import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts'],
    reporters: ['default', './test/support/summary.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // On two cores: many tests wait for a process, a page or a lock.
    maxWorkers: 3,
    env: { LOG_LEVEL: 'silent' },
  },
});
