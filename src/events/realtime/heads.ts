import type { WebsiteKey } from '../../core/ids.ts';
import { Rounds } from '../../core/rounds.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { grownHeads } from '../../store/events/realtime.ts';

export interface HeadsOptions {
  readonly db: Database;
  /** Milliseconds between two reads of the journals' last positions when no notification arrives. */
  readonly every: number;
  readonly onError: (error: unknown) => void;
}

type Watcher = (website: string, position: number) => void;

const CHANNEL = 'gateway_journal';
/**
 * After a notification, the last positions are read at once, and again after this many milliseconds. The second read is
 * needed, because a journal sends at most one notification in 25 ms for each website. Receipts that follow within 25 ms
 * can have no notification.
 */
const AGAIN = 30;
const UNKNOWN = -1;

/**
 * Follows the heads (last positions) of all journals that this process streams. One statement reads all heads. The
 * statement runs after each notification. The statement also runs every `every` milliseconds, because a notification
 * can get lost. The statement does not run while nobody watches a journal.
 */
export class Heads {
  readonly #options: HeadsOptions;
  readonly #watched = new Map<
    string,
    { readonly key: WebsiteKey; position: number; readonly watchers: Set<Watcher> }
  >();
  readonly #rounds: Rounds;
  #again: NodeJS.Timeout | undefined;
  #listening: { close(): Promise<void> } | undefined;

  constructor(options: HeadsOptions) {
    this.#options = options;
    const { every, onError } = options;
    this.#rounds = new Rounds({ every, round: () => this.#look(), onError });
    this.#rounds.pause();
  }

  /**
   * Calls `watcher` with the current head of each website, and again after each change. Returns a function that ends
   * the watch.
   */
  watch(websites: readonly WebsiteKey[], watcher: Watcher): () => void {
    for (const key of websites) {
      const entry = this.#watched.get(key.id) ?? { key, position: UNKNOWN, watchers: new Set() };
      entry.position = UNKNOWN;
      entry.watchers.add(watcher);
      this.#watched.set(key.id, entry);
    }
    this.#rounds.resume();
    this.#listening ??= this.#options.db.listen(CHANNEL, (payload) => this.#told(payload));
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
    await this.#rounds.stop();
    await this.#listening?.close();
  }

  #pause(): void {
    this.#rounds.pause();
    clearTimeout(this.#again);
    this.#again = undefined;
  }

  /**
   * The payload of a notification is '<tenant> <site>'. The payload is empty when listening starts again after a lost
   * connection.
   */
  #told(payload: string): void {
    if (payload !== '' && !this.#watched.has(`web_${payload.replace(' ', '_')}`)) return;
    this.#rounds.wake();
    this.#again ??= setTimeout(() => {
      this.#again = undefined;
      this.#rounds.wake();
    }, AGAIN).unref();
  }

  async #look(): Promise<void> {
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
