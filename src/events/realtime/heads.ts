import type { WebsiteKey } from '../../core/ids.ts';
import { PeriodicJob } from '../../flow/periodic-job.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { grownHeads } from '../../store/events/realtime-sessions.ts';
import { wakeAtReceipts } from '../notified.ts';

export interface HeadsOptions {
  readonly db: Database;
  /** Milliseconds between two reads of the journals' heads when no notification arrives. */
  readonly every: number;
  readonly onError: (error: unknown) => void;
}

type Watcher = (website: string, position: number) => void;

const UNKNOWN = -1;

/**
 * Follows the heads (last positions) of all journals that this process streams. One statement reads all heads, after
 * each notification and every `every` milliseconds, because a notification can get lost. Without watchers, the
 * statement does not run.
 */
export class Heads {
  readonly #options: HeadsOptions;
  readonly #watched = new Map<
    string,
    { readonly key: WebsiteKey; position: number; readonly watchers: Set<Watcher> }
  >();
  readonly #job: PeriodicJob;
  #listening: { close(): Promise<void> } | undefined;

  constructor(options: HeadsOptions) {
    this.#options = options;
    const { every, onError } = options;
    this.#job = new PeriodicJob({ every, run: () => this.#look(), onError });
    this.#job.pause();
  }

  /** Calls `watcher` with each website's head, now and after each change. Returns a function that ends the watch. */
  watch(websites: readonly WebsiteKey[], watcher: Watcher): () => void {
    for (const key of websites) {
      const entry = this.#watched.get(key.id) ?? { key, position: UNKNOWN, watchers: new Set() };
      entry.position = UNKNOWN;
      entry.watchers.add(watcher);
      this.#watched.set(key.id, entry);
    }
    this.#job.resume();
    this.#listening ??= wakeAtReceipts(
      this.#options.db,
      this.#job,
      (payload) => payload === '' || this.#watched.has(`web_${payload.replace(' ', '_')}`),
    );
    return () => {
      for (const { id } of websites) {
        const entry = this.#watched.get(id);
        entry?.watchers.delete(watcher);
        if (entry?.watchers.size === 0) this.#watched.delete(id);
      }
      if (this.#watched.size === 0) this.#job.pause();
    };
  }

  async stop(): Promise<void> {
    await this.#job.stop();
    await this.#listening?.close();
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
