/**
 * Merges rows of several journals, oldest first, until `limit` wanted rows are found. Rows of one website keep the
 * order of their positions, even if their timestamps have another order. The new positions also skip the unwanted rows
 * after the last wanted row.
 */
export function merge(scanned, wanted, limit) {
    const taken = [];
    const positions = new Map(scanned.map(({ website, after }) => [website, after]));
    const queues = scanned.map(({ website, rows }) => ({ website, rows, next: 0 }));
    for (;;) {
        let first;
        for (const queue of queues) {
            for (let row = queue.rows[queue.next]; row && !wanted(row.eventType); row = queue.rows[queue.next]) {
                positions.set(queue.website, row.position);
                queue.next++;
            }
            const row = queue.rows[queue.next];
            if (row && (!first || row.recordedAt < first.row.recordedAt))
                first = { queue, row };
        }
        if (!first || taken.length === limit)
            return { taken, positions };
        taken.push({ website: first.queue.website, row: first.row });
        positions.set(first.queue.website, first.row.position);
        first.queue.next++;
    }
}
//# sourceMappingURL=merge.js.map