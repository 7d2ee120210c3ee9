/** What one reader of a journal got. It notes receipts that are missing, or that come twice or out of order. */
export class Taken {
    positions;
    ids = new Map();
    repeated = 0;
    /** The number of receipts that came twice although no repetition is allowed. */
    twice = 0;
    wrong = new Set();
    constructor(websites) {
        this.positions = new Map(websites.map((website) => [website, []]));
    }
    /**
     * `again` is true when the page may repeat receipts. Receipts repeat after a reconnect, because a socket starts again
     * after the last page that the client acknowledged.
     */
    page(events, again = false) {
        for (const { event_id, website_id, cursor } of events) {
            const before = this.positions.get(website_id) ?? [];
            const last = before.at(-1) ?? 0;
            if (cursor <= last) {
                this.repeated++;
                if (!again) {
                    this.wrong.add('a receipt came twice');
                    this.twice++;
                }
                if (this.ids.get(`${website_id} ${cursor}`) !== event_id)
                    this.wrong.add('a position has two event ids');
                continue;
            }
            if (cursor !== last + 1)
                this.wrong.add('a receipt was skipped');
            before.push(cursor);
            this.ids.set(`${website_id} ${cursor}`, event_id);
        }
    }
    reached(heads) {
        return [...this.positions].every(([website, { length }]) => length >= (heads.get(website) ?? 0));
    }
}
//# sourceMappingURL=taken.js.map