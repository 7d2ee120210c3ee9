import { sqlState } from '../store/driver/errors.ts';
import { Refused } from './output.ts';

const BUILDING =
  'After an upgrade, an index that erasures need is not built yet. Run `gateway migrate`, which ends when it is built, and then this command again.';

/** Waits for an erasure. Tells the operator what to do if it cannot run before an index is built. */
export async function whenBuilt<Result>(erasure: Promise<Result>): Promise<Result> {
  try {
    return await erasure;
  } catch (error) {
    if (sqlState(error) === 'GW503') throw new Refused(BUILDING);
    throw error;
  }
}
