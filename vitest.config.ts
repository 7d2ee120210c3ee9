import { defineConfig } from 'vitest/config';
import Order from './test/support/order.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts'],
    reporters: ['default', './test/support/clients.ts', './test/support/summary.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    sequence: { sequencer: Order },
    // The test machine has two cores, and PostgreSQL uses one of them. Tests often wait, so two workers left the cores
    // idle for a third of the time.
    maxWorkers: 3,
    env: { LOG_LEVEL: 'silent' },
  },
});
