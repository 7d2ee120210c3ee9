interface Place<T> {
  readonly value: T;
  at: number;
}

/**
 * What comes and goes with every request, in no order. A Set of few members makes a new table every few changes, and V8
 * keeps a pointer from each to its successor: one dead table that has grown old kept all later ones and what they held
 * from being collected young (sixteen clients with one token: 52 MB grew old in ten seconds, and 7 with this).
 */
export class UnderWay<T> {
  readonly #places: Place<T>[] = [];

  /** Returns what takes it out again; a second call does nothing. */
  add(value: T): () => void {
    const place = { value, at: this.#places.length };
    this.#places.push(place);
    return () => {
      if (this.#places[place.at] !== place) return;
      const last = this.#places.pop();
      if (!last || last === place) return;
      this.#places[place.at] = last;
      last.at = place.at;
    };
  }

  all(): readonly T[] {
    return this.#places.map(({ value }) => value);
  }
}
