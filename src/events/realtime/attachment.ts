import type { EventPage } from '../../core/events.ts';
import { type CursorKeys, readCursor } from '../cursors.ts';

/** A subscription as a socket streams it: where its next page begins, and the page that waits to be acknowledged. */
export class Attachment {
  readonly subscription: string;
  readonly revision: number;
  readonly websites: readonly string[];
  readonly #keys: CursorKeys;
  /** Behind which the next page begins. */
  cursor: string;
  #positions: ReadonlyMap<string, number>;
  /** The cursor last acknowledged, or with which the stream began. */
  acked: string;
  /** The page that waits, and since when (performance.now()). */
  open: { readonly cursor: string; readonly since: number } | undefined;
  /** Whether the page's acknowledgement is being stored. */
  acking = false;
  /** Whether a page is being read, and whether there is news since that began. */
  reading = false;
  news = false;
  /** Told that a family is held; another attempt is made at that moment (performance.now()). */
  pausedUntil: number | undefined;
  /**
   * Whether it is passing over a backlog of what nobody asked for. Where the quota ends then, it waits: a new socket would
   * begin that all over.
   */
  passing = false;
  /** Attempts that failed because the store could not be read. */
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

  /** Whether a journal that stands there has something that was not looked at. */
  behind(website: string, head: number): boolean {
    return head !== (this.#positions.get(website) ?? head);
  }

  /** Whether that is the acknowledgement that the open page waits for. */
  awaits(cursor: string): boolean {
    return this.open?.cursor === cursor && !this.acking;
  }

  /** The page has been read; what it passed over is taken, what it holds is once it is acknowledged. */
  took({ next_cursor }: EventPage, passing: boolean): void {
    this.passing = passing;
    this.cursor = next_cursor;
    this.#positions = readCursor(this.#keys, next_cursor)?.positions ?? this.#positions;
    this.failures = 0;
    this.pausedUntil = undefined;
    this.retryAt = undefined;
  }
}
