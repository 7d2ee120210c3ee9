/**
 * The most rows of a round that are remembered, at about 120 bytes each. A reader has two such memories of two rounds.
 * With 200,000 rows in each, a page of long mails does not fit into its heap.
 */
const MOST = 50_000;
/** Digests of the rows of this and the last round of polling. A new reader has none, and reports all rows again. */
export class Remembered {
    #last = new Map();
    #now = new Map();
    /** The newest digest of the row. */
    of(row) {
        return this.#now.get(row) ?? this.#last.get(row);
    }
    remember(row, digest) {
        if (this.#now.size < MOST)
            this.#now.set(row, digest);
        else
            this.#now.delete(row);
    }
    /** Rows that this round did not see are outside of the window, so their digests are dropped. */
    endRound() {
        this.#last = this.#now;
        this.#now = new Map();
    }
    /** Call this after a load or a second read: the store may no longer have what polling reported before. */
    forget(rows) {
        for (const map of [this.#last, this.#now]) {
            if (rows === undefined)
                map.clear();
            else
                for (const row of rows)
                    map.delete(row);
        }
    }
}
//# sourceMappingURL=remembered.js.map