import { defineConfig } from 'vitest/config';
import Order from './test/support/order.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts'],
    reporters: ['default', './test/support/summary.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    sequence: { sequencer: Order },
    // Two cores, one of them PostgreSQL's, and tests that wait much: a third of the time was idle with two.
    maxWorkers: 3,
    env: { LOG_LEVEL: 'silent' },
  },
});
