import type { EventPage } from '../../core/events.ts';
import { type CursorKeys, readCursor } from '../cursors.ts';

/** The stream of one subscription over a socket. At most one page is unacknowledged. */
export class Attachment {
  readonly subscription: string;
  readonly revision: number;
  readonly websites: readonly string[];
  readonly #keys: CursorKeys;
  cursor: string;
  #positions: ReadonlyMap<string, number>;
  /** The cursor of the last acknowledged page. Before that, the cursor at which the stream started. */
  acked: string;
  /** The unacknowledged page. `since`: the time of sending, in milliseconds of performance.now(). */
  open: { readonly cursor: string; readonly since: number } | undefined;
  acking = false;
  /** `reading`: a page is being read. `news`: receipts have arrived since that read started. */
  reading = false;
  news = false;
  /** When to try again while an event family is paused, in milliseconds of performance.now(). */
  pausedUntil: number | undefined;
  /**
   * True while the stream skips old receipts that do not match the subscription. If the quota runs out meanwhile, the
   * stream waits and the socket stays open, because the next socket would have to skip the same receipts.
   */
  passing = false;
  failures = 0;
  retryAt: number | undefined;
  unwatch: () => void = () => undefined;

  constructor(
    keys: CursorKeys,
    { subscription, revision, cursor }: { subscription: string; revision: number; cursor: string },
  ) {
    this.#keys = keys;
    this.subscription = subscription;
    this.revision = revision;
    this.cursor = cursor;
    this.acked = cursor;
    this.#positions = readCursor(keys, cursor)?.positions ?? new Map();
    this.websites = [...this.#positions.keys()];
  }

  behind(website: string, head: number): boolean {
    return head !== (this.#positions.get(website) ?? head);
  }

  awaits(cursor: string): boolean {
    return this.open?.cursor === cursor && !this.acking;
  }

  took({ next_cursor }: EventPage, passing: boolean): void {
    this.passing = passing;
    this.cursor = next_cursor;
    this.#positions = readCursor(this.#keys, next_cursor)?.positions ?? this.#positions;
    this.failures = 0;
    this.pausedUntil = undefined;
    this.retryAt = undefined;
  }
}
