import { it } from 'vitest';

/**
 * The suite has three forms. `npm run test:all` has the form `all`: it finds every planted defect. `npm test` has the
 * form `quick`: it runs fewer files and repeats less (suites.ts). `TEST_FORM=long npx vitest run <file>` injects as many
 * faults and repeats the tests as often as the checks demand. Where a test speaks of the short form, it means `all` and `quick`.
 */
export const LONG = process.env['TEST_FORM'] === 'long';
const QUICK = process.env['TEST_FORM'] === 'quick';
const REST = process.env['TEST_FORM'] === 'rest';

/** A file that gives `quick` must be in SHORTER of suites.ts. */
export const times = (all: number, long: number, quick = all): number => (LONG ? long : QUICK ? quick : all);

/** As `times`, for independent repetitions: the mode `rest` makes those that `npm test` has left out. */
export const repeats = (all: number, long: number, quick: number): number =>
  REST ? all - quick : times(all, long, quick);

/** A test that `npm test` leaves out. Its file must be in SHORTER of suites.ts. */
export const itInFull = it.runIf(!QUICK);

/**
 * A test that `npm test` runs as it is. The mode `rest` leaves it out: its file is in SHORTER of suites.ts, and the two
 * modes together run everything. A file can import it under the name `it`.
 */
export const itOnce = it.runIf(!REST);

/** The rows of a table of tests. `npm test` runs the first `quick` of them, and the mode `rest` the others. */
export const rowsOnce = <T>(all: readonly T[], quick: number): readonly T[] =>
  QUICK ? all.slice(0, quick) : REST ? all.slice(quick) : all;

/** True for the rows that this form runs, where `npm test` runs one of `n` rows and the mode `rest` the others. */
export const inTurn = (i: number, n: number): boolean => (QUICK ? i % n === 0 : !REST || i % n !== 0);

/** As `rowsOnce`, where `npm test` runs one of `n` rows. */
export const everyOnce = <T>(all: readonly T[], n: number): readonly T[] => all.filter((_, i) => inTurn(i, n));
