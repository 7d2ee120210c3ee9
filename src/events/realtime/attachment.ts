import type { EventPage } from '../../core/events.ts';
import { type CursorKeys, readCursor } from '../cursors.ts';

/** A subscription on a socket: the cursor of its next page, and the page that waits for an acknowledgement. */
export class Attachment {
  readonly subscription: string;
  readonly revision: number;
  readonly websites: readonly string[];
  readonly #keys: CursorKeys;
  /** The next page starts behind this cursor. */
  cursor: string;
  #positions: ReadonlyMap<string, number>;
  /** The cursor of the last acknowledgement. At first, the cursor at which the stream started. */
  acked: string;
  /** The page that waits for its acknowledgement, and its send time (performance.now()). */
  open: { readonly cursor: string; readonly since: number } | undefined;
  /** Whether the page's acknowledgement is being stored. */
  acking = false;
  /** `reading`: whether a page is being read. `news`: whether receipts arrived since that read started. */
  reading = false;
  news = false;
  /** Set when the client was told that a family is paused. The next attempt starts at this time (performance.now()). */
  pausedUntil: number | undefined;
  /**
   * Whether the stream is skipping a backlog that does not match the subscription. If the quota ends meanwhile, the
   * stream waits and the socket stays open: a new socket would skip the same backlog again.
   */
  passing = false;
  /** Consecutive attempts that failed because the store could not be read. */
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

  /** Whether the journal holds receipts behind the position of this stream. */
  behind(website: string, head: number): boolean {
    return head !== (this.#positions.get(website) ?? head);
  }

  /** Whether the open page waits for this acknowledgement. */
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
