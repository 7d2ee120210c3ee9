interface Place<Item> {
  readonly group: string;
  readonly items: Item[];
}

/**
 * Items that wait, each of a group. The groups have their turns one after the other, however much one of them has; within
 * a group the first to come is the first to go. An array and no Map: a Map whose keys come and go with each call keeps
 * what it held from being collected young (sixteen clients: 52 MB grew old in ten seconds, and 7 with an array).
 */
export class Line<Item> {
  /** In the order of their turns; each has at least one item. */
  readonly #places: Place<Item>[] = [];

  add(group: string, item: Item): void {
    const place = this.#places.find((one) => one.group === group);
    if (place) place.items.push(item);
    else this.#places.push({ group, items: [item] });
  }

  /** Takes an item out before its turn; false: it was not there any more. */
  remove(group: string, item: Item): boolean {
    const place = this.#places.find((one) => one.group === group);
    const at = place?.items.indexOf(item) ?? -1; // mostly the first
    if (!place || at < 0) return false;
    place.items.splice(at, 1);
    if (place.items.length === 0) this.#places.splice(this.#places.indexOf(place), 1);
    return true;
  }

  /** Takes the first item of the group whose turn it is, among those that may have one now. */
  next(may: (group: string) => boolean = () => true): Item | undefined {
    const at = this.#places.findIndex(({ group }) => may(group));
    const place = this.#places[at];
    if (!place) return undefined;
    this.#places.splice(at, 1);
    const item = place.items.shift();
    if (place.items.length > 0) this.#places.push(place);
    return item;
  }

  /** Takes up to `most` items, the groups in turn; those of `first` begin. */
  take(most: number, first?: string): Item[] {
    const taken: Item[] = [];
    while (taken.length < most) {
      const begins = taken.length === 0 && first !== undefined;
      const item = begins ? this.next((group) => group === first) : this.next();
      if (item === undefined) break;
      taken.push(item);
    }
    return taken;
  }

  /** Items that wait in a group. */
  of(group: string): number {
    return this.#places.find((one) => one.group === group)?.items.length ?? 0;
  }

  get empty(): boolean {
    return this.#places.length === 0;
  }

  all(): Item[] {
    return this.#places.flatMap(({ items }) => items);
  }
}
