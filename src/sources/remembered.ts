/** The most rows that are remembered. One row takes about 150 bytes. */
const MOST = 200_000;

/** Digests of the rows of this and the last round of polling. The memory is of one reader: the next one tells all again. */
export class Remembered {
  #last = new Map<string, string>();
  #now = new Map<string, string>();

  /** The digest that was noted last. */
  of(row: string): string | undefined {
    return this.#now.get(row) ?? this.#last.get(row);
  }

  note(row: string, digest: string): void {
    if (this.#now.size < MOST) this.#now.set(row, digest);
    else this.#now.delete(row);
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
