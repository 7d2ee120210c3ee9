/** A receipt as far as merging looks at it. */
export interface Mergeable {
  readonly position: number;
  readonly eventType: string;
  readonly recordedAt: number;
}

export interface Scanned<Row extends Mergeable> {
  readonly website: string;
  /** Position up to which the reader has taken the website. */
  readonly after: number;
  /** Rows behind `after`, by position. */
  readonly rows: readonly Row[];
}

export interface Merged<Row extends Mergeable> {
  readonly taken: readonly { readonly website: string; readonly row: Row }[];
  /** Position up to which each website is taken now: past what was delivered or not wanted, and nothing else. */
  readonly positions: ReadonlyMap<string, number>;
}

/**
 * At most `limit` wanted rows of several journals, those recorded first before the others; of one website strictly by
 * position, whatever its clock said. Rows that are not wanted are passed over, also behind the last one delivered.
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
