import { expect } from 'vitest';

const ends: (() => Promise<unknown>)[] = [];
let current: string | undefined;

/**
 * Ends what a support module has open, after every test file. A hook of the module would run only after the first file
 * of a process, because files that share a process share its modules.
 */
export const atFileEnd = (end: () => Promise<unknown>): void => void ends.push(end);

/** Throws if nobody will call `endFile` after this test file. */
export function mustEnd(): void {
  if (expect.getState().testPath !== current)
    throw new Error('test/support/each-file.ts did not run for this test file');
}

/** For each-file.ts. */
export function beginFile(): void {
  current = expect.getState().testPath;
}

/** For each-file.ts. */
export const endFile = (): Promise<unknown> => Promise.all(ends.map((end) => end()));
