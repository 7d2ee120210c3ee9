import { readCursor } from '../cursors.js';
/** The stream of one subscription over a socket. At most one page is unacknowledged. */
export class Attachment {
    subscription;
    revision;
    websites;
    #keys;
    cursor;
    #positions;
    /** The cursor of the last acknowledged page. Before that, the cursor at which the stream started. */
    acked;
    /** The unacknowledged page. `since`: the time of sending, in milliseconds of performance.now(). */
    open;
    acking = false;
    /** `reading`: a page is being read. `news`: receipts have arrived since that read started. */
    reading = false;
    news = false;
    /** When to try again while an event family is paused, in milliseconds of performance.now(). */
    pausedUntil;
    /**
     * True while the stream skips old receipts that do not match the subscription. If the quota runs out meanwhile, the
     * stream waits and the socket stays open, because the next socket would have to skip the same receipts.
     */
    passing = false;
    failures = 0;
    retryAt;
    unwatch = () => undefined;
    constructor(keys, { subscription, revision, cursor }) {
        this.#keys = keys;
        this.subscription = subscription;
        this.revision = revision;
        this.cursor = cursor;
        this.acked = cursor;
        this.#positions = readCursor(keys, cursor)?.positions ?? new Map();
        this.websites = [...this.#positions.keys()];
    }
    behind(website, head) {
        return head !== (this.#positions.get(website) ?? head);
    }
    awaits(cursor) {
        return this.open?.cursor === cursor && !this.acking;
    }
    took({ next_cursor }, passing) {
        this.passing = passing;
        this.cursor = next_cursor;
        this.#positions = readCursor(this.#keys, next_cursor)?.positions ?? this.#positions;
        this.failures = 0;
        this.pausedUntil = undefined;
        this.retryAt = undefined;
    }
}
//# sourceMappingURL=attachment.js.map