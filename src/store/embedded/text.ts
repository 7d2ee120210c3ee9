import { readFileSync } from 'node:fs';
import { errorCode } from './unavailable.ts';

/** The text of a file. Undefined if there is no such file. */
export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
