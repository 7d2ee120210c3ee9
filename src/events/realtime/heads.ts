import type { WebsiteKey } from '../../core/ids.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { grownHeads } from '../../store/events/realtime.ts';

export interface HeadsOptions {
  readonly db: Database;
  /** Milliseconds between looks where nothing is told. */
  readonly every: number;
  readonly onError: (error: unknown) => void;
}

/** Told the website and the position of its head, which has changed. */
type Watcher = (website: string, position: number) => void;

/** Where the journal tells that a website has news (0011_journal.sql). */
const CHANNEL = 'gateway_journal';
/** Milliseconds after which one looks again: a website is told of at most once in 25. */
const AGAIN = 30;
/** A journal of which nothing is known yet. */
const UNKNOWN = -1;

/**
 * The journals that this process streams: one statement a tick for all of them, at once where the store tells of news, and
 * every `every` milliseconds anyway, because what it tells may get lost. Nobody watches: nothing is asked.
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

  /** Tells `watcher` of each change on these websites, and at first of where they stand, until what it returns is called. */
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

  /** '<tenant> <site>', or nothing where listening begins anew. */
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
