import { createHash } from 'node:crypto';
import { Remembered } from '../remembered.ts';
import type { Change } from '../source.ts';

/**
 * Leaves out what earlier rounds of polling have told already. The windows of two rounds overlap by more than a minute,
 * because transactions commit late. So at a period of 2 s, each change would be checked, converted and written 30 times.
 */
export class Repeats extends Remembered {
  /** The changes of all rows about which the last round and this round have not told the same. */
  without(changes: readonly Change[]): Change[] {
    const rows = new Map<string, Change[]>();
    for (const change of changes) {
      const told = rows.get(change.from);
      if (told === undefined) rows.set(change.from, [change]);
      else told.push(change);
    }
    return [...rows].flatMap(([from, told]) => {
      // One text of all records could be longer than a text may be.
      const hash = createHash('sha256');
      for (const change of told) hash.update(JSON.stringify(change));
      const digest = hash.digest('base64url');
      const known = this.of(from);
      this.remember(from, digest);
      return known === digest ? [] : told;
    });
  }
}
