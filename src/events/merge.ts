export interface Mergeable {
  readonly position: number;
  readonly eventType: string;
  readonly recordedAt: number;
}

export interface Scanned<Row extends Mergeable> {
  readonly website: string;
  readonly after: number;
  /** The rows after the position `after`, in the order of their positions. */
  readonly rows: readonly Row[];
}

export interface Merged<Row extends Mergeable> {
  readonly taken: readonly { readonly website: string; readonly row: Row }[];
  /** By website: the position of the last delivered or skipped row. The reader continues after it. */
  readonly positions: ReadonlyMap<string, number>;
}

/**
 * Merges rows of several journals, oldest first, until `limit` wanted rows are found. Rows of one website keep the
 * order of their positions, even if their timestamps have another order. The new positions also skip the unwanted rows
 * after the last wanted row.
 */
export function merge<Row extends Mergeable>(
  scanned: readonly Scanned<Row>[],
  wanted: (eventType: string) => boolean,
  limit: number,
): Merged<Row> {
  const taken: { website: string; row: Row }[] = [];
  const positions = new Map(scanned.map(({ website, after }) => [website, after]));
  const queues = scanned.map(({ website, rows }) => ({ website, rows, next: 0 }));
  for (;;) {
    let first: { queue: (typeof queues)[number]; row: Row } | undefined;
    for (const queue of queues) {
      for (let row = queue.rows[queue.next]; row && !wanted(row.eventType); row = queue.rows[queue.next]) {
        positions.set(queue.website, row.position);
        queue.next++;
      }
      const row = queue.rows[queue.next];
      if (row && (!first || row.recordedAt < first.row.recordedAt)) first = { queue, row };
    }
    if (!first || taken.length === limit) return { taken, positions };
    taken.push({ website: first.queue.website, row: first.row });
    positions.set(first.queue.website, first.row.position);
    first.queue.next++;
  }
}
