/**
 * The most rows of a round that are remembered. A reader has two such memories of two rounds, and one row takes about 120
 * bytes. With 200,000 rows in each, a page of long mails no longer fits into the heap of the reader.
 */
const MOST = 50_000;

/** Digests of the rows of this and the last round of polling. The memory is of one reader: the next one tells all again. */
export class Remembered {
  #last = new Map<string, string>();
  #now = new Map<string, string>();

  /** The digest that was remembered last. */
  of(row: string): string | undefined {
    return this.#now.get(row) ?? this.#last.get(row);
  }

  remember(row: string, digest: string): void {
    if (this.#now.size < MOST) this.#now.set(row, digest);
    else this.#now.delete(row);
  }

  /** A row that the last round did not see is outside of the window. */
  endRound(): void {
    this.#last = this.#now;
    this.#now = new Map();
  }

  /** Call this when a load or a second read told these rows. The store then no longer holds what polling told before. */
  forget(rows?: readonly string[]): void {
    for (const map of [this.#last, this.#now]) {
      if (rows === undefined) map.clear();
      else for (const row of rows) map.delete(row);
    }
  }
}
