import type { Authority } from '../../core/authority.ts';
import type { EventPage } from '../../core/events.ts';
import { Failure } from '../../core/failures.ts';
import { Lanes } from '../../core/lanes.ts';
import { Caller } from '../../store/calls/caller.ts';
import { StaleAuthority } from '../../store/calls/guard.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { type Ack, type HeldSession, readAck, storeAcks } from '../../store/events/realtime.ts';
import { readSubscription } from '../../store/events/subscriptions.ts';
import { type CursorKeys, readCursor, writeCursor } from '../cursors.ts';
import { pullPage } from '../pull.ts';
import { Heads, type HeadsOptions } from './heads.ts';
import { Turns } from './turns.ts';

export interface PagesOptions extends HeadsOptions {
  readonly keys: CursorKeys;
  readonly eventKey: () => Promise<Uint8Array>;
  /** Charges the app for a page, a scan or an attach. Resolves with the charged units. Throws `quota_exceeded`. */
  readonly charge: (authority: Authority) => Promise<number>;
  /** Gives charged units back to the app. */
  readonly refund: (authority: Authority, units: number) => void;
  /** Loads the current authority for a session's websites. Resolves with `undefined` if the authority has ended. */
  readonly authority: (authority: Authority) => Promise<Authority | undefined>;
}

/**
 * The number of reads for sockets that run at the same time. One app can have all of them but one. The limit is low, so
 * that the other calls of the process get their turn.
 */
const TOGETHER = 4;
/** The largest number of acknowledgements in one statement. */
const ACKS = 200;
/** The largest number of acknowledgements of one app that wait. Each stream has at most one waiting acknowledgement. */
const WAITING = 4_096;
/** Milliseconds that an acknowledgement waits while no statement ends. */
const PATIENCE = 3_000;
/** The largest number of receipts in a page. */
const PAGE = 100;

interface Page {
  readonly subscription: string;
  readonly after: string;
}

/** A caller that waits for a page. */
interface Reader {
  readonly wanted: () => boolean;
  readonly resolve: (page: EventPage) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Performs all reads and writes for the sockets of a process. Only a few reads run at the same time. Apps take turns.
 */
export class Pages {
  readonly keys: CursorKeys;
  readonly authority: PagesOptions['authority'];
  readonly onError: (error: unknown) => void;
  readonly #db: Database;
  readonly #eventKey: PagesOptions['eventKey'];
  readonly #charge: PagesOptions['charge'];
  readonly #refund: PagesOptions['refund'];
  readonly #heads: Heads;
  readonly #acks: Lanes<Ack, boolean>;
  readonly #turns = new Turns(TOGETHER, TOGETHER - 1);
  /** Callers that wait for a page, by `keyOf`. The read of the page has not started. */
  readonly #waiting = new Map<string, Reader[]>();

  constructor(options: PagesOptions) {
    this.keys = options.keys;
    this.authority = options.authority;
    this.onError = options.onError;
    this.#db = options.db;
    this.#eventKey = options.eventKey;
    this.#charge = options.charge;
    this.#refund = options.refund;
    this.#heads = new Heads(options);
    this.#acks = new Lanes<Ack, boolean>({
      run: async (acks) => {
        const stored = await storeAcks(options.db, acks);
        return acks.map((ack) => stored.has(ack));
      },
      slots: 1,
      batch: ACKS,
      length: WAITING,
      patience: PATIENCE,
    });
  }

  /**
   * Returns the cursor at which a stream starts. It is `after`, the last acknowledged cursor of the session, or the
   * start of the subscription. The call costs one unit. It throws the failures of a pull, except for a paused family.
   */
  open(
    authority: Authority,
    attach: HeldSession & { subscription: string; after: string | undefined },
    wanted: () => boolean,
  ): Promise<{ revision: number; cursor: string }> {
    return this.#turn(authority, wanted, async () => {
      const begin = await this.#begin(authority, attach);
      await this.#pull(authority, { ...attach, after: begin.cursor }).catch((error: unknown) => {
        if (!(error instanceof Failure) || error.code !== 'event_family_paused') throw error;
      });
      return begin;
    });
  }

  /**
   * Reads the page after a cursor. The charge comes before the read. So nothing delays a page that was read, and its
   * authority cannot end during a charge. A failed page is free. An empty page at the end of the journal is free too.
   *
   * Callers with the same authority share a read when they ask for the same page before the read starts. Each of them
   * pays.
   */
  read(authority: Authority, page: Page, wanted: () => boolean): Promise<EventPage> {
    return new Promise((resolve, reject) => {
      const reader = { wanted, resolve, reject };
      const key = keyOf(authority, page);
      const waiting = this.#waiting.get(key);
      // A read is dropped when no caller wants its page any more. A new caller must not join such a read.
      if (waiting?.some((one) => one.wanted())) {
        waiting.push(reader);
        return;
      }
      const readers: Reader[] = [reader];
      this.#waiting.set(key, readers);
      const close = (): void => {
        if (this.#waiting.get(key) === readers) this.#waiting.delete(key);
      };
      const wantedStill = (): boolean => readers.some((one) => one.wanted());
      const work = async (): Promise<void> => {
        // All watchers learn of a change in the same turn of the event loop, and ask for their pages in this turn. Wait
        // for the end of the turn, so that these callers share the read.
        await Promise.resolve();
        close();
        await this.#together(authority, page, readers);
      };
      this.#turns.take(authority, wantedStill, work).catch((error: unknown) => {
        close();
        for (const one of readers) one.reject(error);
      });
    });
  }

  /**
   * Stores an acknowledgement. Acknowledgements that arrive during a statement share the next statement. Apps take
   * turns. Resolves with false when the session has ended or belongs to another socket.
   */
  ack({ appId }: Authority, ack: Ack): Promise<boolean> {
    return this.#acks.add({ lane: '', group: '', app: appId }, ack);
  }

  /** Calls `watcher` at each change on these websites. Returns a function that ends the watch. */
  watch(
    authority: Authority,
    websites: readonly string[],
    watcher: (website: string, head: number) => void,
  ): () => void {
    return this.#heads.watch(
      websites.flatMap((id) => authority.websites.get(id) ?? []),
      watcher,
    );
  }

  stop(): Promise<void> {
    return this.#heads.stop();
  }

  async #begin(
    authority: Authority,
    { session, subscription, after }: HeldSession & { subscription: string; after: string | undefined },
  ): Promise<{ revision: number; cursor: string }> {
    const access = { db: this.#db, authority };
    const row = await new Caller(authority).take(readSubscription(access, subscription));
    const { revision } = row;
    const kept = after ?? (await readAck(access, session, subscription, revision));
    if (after !== undefined && readCursor(this.keys, after) === undefined) throw new Failure('invalid_cursor');
    const ids = new Map([...authority.websites.values()].map(({ id, site }) => [site, id]));
    const { credentialId: credential, environment } = authority;
    const positions = new Map(row.sites.map((site, i) => [ids.get(site) ?? '', row.positions[i] ?? 0]));
    return {
      revision,
      cursor: kept ?? writeCursor(this.keys, { subscription, revision, credential, environment, positions }),
    };
  }

  /**
   * Charges every waiting reader. A reader that has paid and still wants the page gets it. A free page goes to all
   * readers.
   */
  async #together(authority: Authority, page: Page, readers: readonly Reader[]): Promise<void> {
    const asked = readers.filter(({ wanted }) => wanted());
    const charges = await Promise.allSettled(asked.map(() => this.#charge(authority)));
    const refused: { readonly reader: Reader; readonly reason: unknown }[] = [];
    const paid = asked.flatMap((reader, i) => {
      const charged = charges[i];
      if (charged?.status !== 'fulfilled') refused.push({ reader, reason: charged?.reason });
      else if (reader.wanted()) return [{ reader, units: charged.value }];
      else this.#refund(authority, charged.value);
      return [];
    });
    if (paid.length > 0) {
      const [pulled] = await Promise.allSettled([this.#pull(authority, page)]);
      const free = pulled.status === 'rejected' || (pulled.value.events.length === 0 && !pulled.value.has_more);
      for (const { reader, units } of paid) {
        if (free) this.#refund(authority, units);
        if (pulled.status === 'fulfilled') reader.resolve(pulled.value);
        else reader.reject(pulled.reason);
      }
      if (free && pulled.status === 'fulfilled') for (const { reader } of refused) reader.resolve(pulled.value);
    }
    for (const { reader, reason } of refused) reader.reject(reason);
    // Rejects the promises of readers that no longer want the page. For settled promises, this has no effect.
    for (const { reject } of readers) reject(new Failure('service_unavailable'));
  }

  #pull(authority: Authority, { subscription, after }: Page): Promise<EventPage> {
    const context = { access: { db: this.#db, authority }, keys: this.keys, eventKey: this.#eventKey };
    return new Caller(authority).take(pullPage(context, { subscription, after, limit: PAGE }));
  }

  /**
   * Runs work in the app's turn. The work costs one unit. If the authority is stale, the unit is given back, because
   * the work is repeated under another authority.
   */
  #turn<T>(authority: Authority, wanted: () => boolean, work: () => Promise<T>): Promise<T> {
    return this.#turns.take(authority, wanted, async () => {
      const units = await this.#charge(authority);
      try {
        return await work();
      } catch (error) {
        if (error instanceof StaleAuthority) this.#refund(authority, units);
        throw error;
      }
    });
  }
}

/**
 * Makes the key of a page request. Two requests have the same key only if they get exactly the same page. The
 * properties of a token never change. Each change of its credential raises the revision. The websites are part of the
 * key, because a session can have fewer websites than its credential. No part contains a space.
 */
const keyOf = ({ digest, revision, websites }: Authority, { subscription, after }: Page): string =>
  [Buffer.from(digest).toString('base64'), revision, subscription, after, ...websites.keys()].join(' ');
