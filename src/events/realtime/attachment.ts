import type { EventPage } from '../../core/events.ts';
import { type CursorKeys, readCursor } from '../cursors.ts';

/**
 * A subscription that a socket streams: the cursor of its next page, and the page that waits for an acknowledgement.
 */
export class Attachment {
  readonly subscription: string;
  readonly revision: number;
  readonly websites: readonly string[];
  readonly #keys: CursorKeys;
  /** The next page starts after this cursor. */
  cursor: string;
  #positions: ReadonlyMap<string, number>;
  /** The cursor of the last acknowledged page. At first, it is the cursor at which the stream started. */
  acked: string;
  /**
   * The page that waits for its acknowledgement. `since` is the time at which the page was sent (performance.now()).
   */
  open: { readonly cursor: string; readonly since: number } | undefined;
  /** True while the acknowledgement of the page is being stored. */
  acking = false;
  /** `reading` is true while a page is being read. `news` is true if receipts arrived after that read started. */
  reading = false;
  news = false;
  /** The time of the next attempt (performance.now()) after the client was told that an event family is paused. */
  pausedUntil: number | undefined;
  /**
   * True while the stream skips a backlog that does not match the subscription. If the quota ends meanwhile, the stream
   * waits and the socket stays open. A new socket would skip the same backlog again.
   */
  passing = false;
  /** The number of failed attempts in a row to read a page from the store. */
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

  /** True when the website's journal has receipts after the position of this stream. */
  behind(website: string, head: number): boolean {
    return head !== (this.#positions.get(website) ?? head);
  }

  /** True when the open page waits for the acknowledgement of this cursor. */
  awaits(cursor: string): boolean {
    return this.open?.cursor === cursor && !this.acking;
  }

  /** Advances the stream to the end of a page. The receipts of the page still wait for their acknowledgement. */
  took({ next_cursor }: EventPage, passing: boolean): void {
    this.passing = passing;
    this.cursor = next_cursor;
    this.#positions = readCursor(this.#keys, next_cursor)?.positions ?? this.#positions;
    this.failures = 0;
    this.pausedUntil = undefined;
    this.retryAt = undefined;
  }
}
