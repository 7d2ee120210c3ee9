import type { WebsiteKey } from '../../core/ids.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { grownHeads } from '../../store/events/realtime.ts';

export interface HeadsOptions {
  readonly db: Database;
  /** Milliseconds between two looks, when no notification arrives. */
  readonly every: number;
  readonly onError: (error: unknown) => void;
}

/** Called with a website and its new head position. */
type Watcher = (website: string, position: number) => void;

/** The channel on which the journal notifies that a website has news. */
const CHANNEL = 'gateway_journal';
/**
 * Milliseconds before a second look. The journal notifies at most once in 25 ms for each website, so a later receipt
 * may have no notification.
 */
const AGAIN = 30;
/** The position of a journal that was not read yet. */
const UNKNOWN = -1;

/**
 * Follows the heads of all journals that this process streams. One statement reads all of them. It runs when the store
 * notifies, and every `every` milliseconds, because a notification may get lost. Without watchers, nothing is read.
 */
export class Heads {
  readonly #options: HeadsOptions;
  readonly #watched = new Map<
    string,
    { readonly key: WebsiteKey; position: number; readonly watchers: Set<Watcher> }
  >();
  #timer: NodeJS.Timeout | undefined;
  #again: NodeJS.Timeout | undefined;
  #listening: { close(): Promise<void> } | undefined;
  #looking: Promise<void> | undefined;
  #lookAgain = false;

  constructor(options: HeadsOptions) {
    this.#options = options;
  }

  /** Calls `watcher` with the head of each website, at first and at each change. Returns a function that ends this. */
  watch(websites: readonly WebsiteKey[], watcher: Watcher): () => void {
    for (const key of websites) {
      const entry = this.#watched.get(key.id) ?? { key, position: UNKNOWN, watchers: new Set() };
      entry.position = UNKNOWN;
      entry.watchers.add(watcher);
      this.#watched.set(key.id, entry);
    }
    this.#start();
    return () => {
      for (const { id } of websites) {
        const entry = this.#watched.get(id);
        entry?.watchers.delete(watcher);
        if (entry?.watchers.size === 0) this.#watched.delete(id);
      }
      if (this.#watched.size === 0) this.#pause();
    };
  }

  async stop(): Promise<void> {
    this.#pause();
    await this.#looking;
    await this.#listening?.close();
  }

  #start(): void {
    const { db, every } = this.#options;
    this.#timer ??= setInterval(() => this.#look(), every).unref();
    this.#listening ??= db.listen(CHANNEL, (payload) => this.#told(payload));
  }

  #pause(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#again);
    this.#timer = undefined;
    this.#again = undefined;
  }

  /** The payload is '<tenant> <site>'. It is empty when listening starts again after a lost connection. */
  #told(payload: string): void {
    if (payload !== '' && !this.#watched.has(`web_${payload.replace(' ', '_')}`)) return;
    this.#look();
    this.#again ??= setTimeout(() => {
      this.#again = undefined;
      this.#look();
    }, AGAIN).unref();
  }

  #look(): void {
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = this.#once()
      .catch(this.#options.onError)
      .finally(() => {
        this.#looking = undefined;
        if (!this.#lookAgain) return;
        this.#lookAgain = false;
        this.#look();
      });
  }

  async #once(): Promise<void> {
    if (this.#watched.size === 0) return;
    const known = [...this.#watched.values()].map(({ key, position }) => ({ ...key, position }));
    for (const { tenant, site, position } of await grownHeads(this.#options.db, known)) {
      const entry = this.#watched.get(`web_${tenant}_${site}`);
      if (!entry) continue;
      entry.position = position;
      for (const watcher of [...entry.watchers]) watcher(entry.key.id, position);
    }
  }
}
