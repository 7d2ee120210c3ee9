import { createHash } from 'node:crypto';
import type { Change } from '../source.ts';

/** The most rows that are remembered. One row takes about 150 bytes. */
const MOST = 200_000;

/**
 * Leaves out what earlier rounds of polling have told already. The windows of two rounds overlap by more than a minute,
 * because transactions commit late. So at a period of 2 s, each change would be checked, converted and written 30 times.
 * The memory is of this reader only. A reader that starts again tells everything again.
 */
export class Repeats {
  #last = new Map<string, string>();
  #now = new Map<string, string>();

  /** The changes of all rows about which the last round and this round have not told the same. */
  without(changes: readonly Change[]): Change[] {
    const rows = new Map<string, Change[]>();
    for (const change of changes) rows.set(change.from, [...(rows.get(change.from) ?? []), change]);
    return [...rows].flatMap(([from, told]) => {
      // One text of all records could be longer than a text may be.
      const hash = createHash('sha256');
      for (const change of told) hash.update(JSON.stringify(change));
      const digest = hash.digest('base64url');
      const known = this.#now.get(from) ?? this.#last.get(from);
      if (this.#now.size < MOST) this.#now.set(from, digest);
      else this.#now.delete(from);
      return known === digest ? [] : told;
    });
  }

  /** A row that the last round did not see is outside of the window. */
  endRound(): void {
    this.#last = this.#now;
    this.#now = new Map();
  }

  /** Called when rows were told in another way. What polling told of them before is then no longer in the store. */
  forget(rows?: readonly string[]): void {
    for (const map of [this.#last, this.#now]) {
      if (rows === undefined) map.clear();
      else for (const row of rows) map.delete(row);
    }
  }
}
