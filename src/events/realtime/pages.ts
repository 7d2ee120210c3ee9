import type { Authority } from '../../core/authority.ts';
import type { EventPage } from '../../core/events.ts';
import { Failure } from '../../core/failures.ts';
import { BatchQueues } from '../../flow/batch-queues.ts';
import { FairLimit } from '../../flow/fair-limit.ts';
import { Caller } from '../../store/calls/caller.ts';
import { StaleAuthority } from '../../store/calls/guard.ts';
import { type Ack, type HeldSession, readAck, storeAcks, storeBegin } from '../../store/events/realtime-sessions.ts';
import { readSubscription } from '../../store/events/subscriptions.ts';
import { type CursorKeys, readCursor, writeCursor } from '../cursors.ts';
import { pullPage } from '../pull.ts';
import { Heads, type HeadsOptions } from './heads.ts';

export interface PagesOptions extends HeadsOptions {
  readonly keys: CursorKeys;
  readonly eventKey: () => Promise<Uint8Array>;
  /** Charges the app for one page, scan or attached subscription. Resolves with the units. Throws `quota_exceeded`. */
  readonly charge: (authority: Authority) => Promise<number>;
  readonly refund: (authority: Authority, units: number) => void;
  /** Loads the current authority for a session's websites. Undefined if it has ended, or not at the client's address. */
  readonly authority: (authority: Authority, from: string) => Promise<Authority | undefined>;
}

/** Concurrent reads for sockets. One app gets one less. More reads would delay the other calls of the process. */
const TOGETHER = 4;
const ACKS = 200;
/** How many acknowledgements of one app can wait. Each stream has at most one. */
const WAITING = 4_096;
/**
 * An acknowledgement waits this many milliseconds. It is refused if no statement for acknowledgements ends meanwhile.
 */
const PATIENCE = 3_000;
const PAGE = 100;

interface PageRange {
  readonly subscription: string;
  readonly after: string;
}

interface WaitingPage {
  readonly wanted: () => boolean;
  readonly resolve: (page: EventPage) => void;
  readonly reject: (error: unknown) => void;
}

/** All reads and writes for the sockets of this process. Only a few reads run at the same time, and apps take turns. */
export class Pages {
  readonly keys: CursorKeys;
  readonly authority: PagesOptions['authority'];
  readonly onError: (error: unknown) => void;
  readonly #options: PagesOptions;
  readonly #heads: Heads;
  readonly #acks: BatchQueues<Ack, boolean>;
  readonly #reads = new FairLimit({ atOnce: TOGETHER, each: TOGETHER - 1 });
  readonly #waiting = new Map<string, WaitingPage[]>();

  constructor(options: PagesOptions) {
    this.keys = options.keys;
    this.authority = options.authority;
    this.onError = options.onError;
    this.#options = options;
    this.#heads = new Heads(options);
    this.#acks = new BatchQueues<Ack, boolean>({
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
   * The cursor at which a stream starts: `after`, else the session's last acknowledged cursor, else the start of the
   * subscription. Costs one unit. Fails like a pull, except that a paused event family is no failure here.
   *
   * A subscription that starts now has a later start each time it is read. So its first cursor in a session is stored,
   * and the next socket of the session gets what this one may lose.
   */
  open(
    authority: Authority,
    attach: HeldSession & { subscription: string; after: string | undefined },
    wanted: () => boolean,
  ): Promise<{ revision: number; cursor: string }> {
    return this.#turn(authority, wanted, async () => {
      const { acked, start, ...begin } = await this.#begin(authority, attach);
      await this.#pull(authority, { ...attach, after: begin.cursor }).catch((error: unknown) => {
        if (!(error instanceof Failure) || error.code !== 'event_family_paused') throw error;
      });
      if (start === 'now' && acked === undefined)
        await storeBegin({ db: this.#options.db, authority }, { ...attach, ...begin });
      return begin;
    });
  }

  /**
   * Reads the page after a cursor. The charge comes first, so that it cannot delay a page that was read, and the
   * authority cannot end in between. A failed page is free. So is an empty page at the end of the journal.
   *
   * Callers that ask for the same page under the same authority share a read that has not started. Each of them pays.
   */
  read(authority: Authority, page: PageRange, wanted: () => boolean): Promise<EventPage> {
    return new Promise((resolve, reject) => {
      const reader = { wanted, resolve, reject };
      const key = keyOf(authority, page);
      const waiting = this.#waiting.get(key);
      // A read is dropped when no waiting caller wants its page any more. A new caller must not join a dropped read.
      if (waiting?.some((one) => one.wanted())) {
        waiting.push(reader);
        return;
      }
      const readers: WaitingPage[] = [reader];
      this.#waiting.set(key, readers);
      const close = (): void => {
        if (this.#waiting.get(key) === readers) this.#waiting.delete(key);
      };
      const isWanted = (): boolean => readers.some((one) => one.wanted());
      const work = async (): Promise<void> => {
        // All watchers learn of a change in one turn of the event loop, and ask for their pages in it. Wait for the end
        // of the turn, so that they share one read.
        await Promise.resolve();
        close();
        await this.#together(authority, page, readers);
      };
      this.#takeTurn(authority, isWanted, work).catch((error: unknown) => {
        close();
        for (const one of readers) one.reject(error);
      });
    });
  }

  /**
   * Stores an acknowledgement. Those that arrive while a statement runs are stored together by the next one. Apps take
   * turns. Resolves with false if the session has ended or belongs to another socket.
   */
  ack({ appId }: Authority, ack: Ack): Promise<boolean> {
    return this.#acks.add({ queue: '', group: '', app: appId }, ack);
  }

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
  ): Promise<{ revision: number; cursor: string; acked: string | undefined; start: string }> {
    const access = { db: this.#options.db, authority };
    const row = await new Caller(authority).take(readSubscription(access, subscription));
    const { revision, start } = row;
    if (after !== undefined && readCursor(this.keys, after) === undefined) throw new Failure('invalid_cursor');
    const acked =
      after === undefined || start === 'now' ? await readAck(access, session, subscription, revision) : undefined;
    const ids = new Map([...authority.websites.values()].map(({ id, site }) => [site, id]));
    const { credentialId: credential, environment } = authority;
    const positions = new Map(row.sites.map((site, i) => [ids.get(site) ?? '', row.positions[i] ?? 0]));
    return {
      revision,
      start,
      acked,
      cursor: after ?? acked ?? writeCursor(this.keys, { subscription, revision, credential, environment, positions }),
    };
  }

  /**
   * Charges every waiting reader before the read. A reader who paid and still wants the page gets it. If the page is
   * free, readers who could not pay get it too.
   */
  async #together(authority: Authority, page: PageRange, readers: readonly WaitingPage[]): Promise<void> {
    const { charge, refund } = this.#options;
    const asked = readers.filter(({ wanted }) => wanted());
    const charges = await Promise.allSettled(asked.map(() => charge(authority)));
    const refused: { readonly reader: WaitingPage; readonly reason: unknown }[] = [];
    const paid = asked.flatMap((reader, i) => {
      const charged = charges[i];
      if (charged?.status !== 'fulfilled') refused.push({ reader, reason: charged?.reason });
      else if (reader.wanted()) return [{ reader, units: charged.value }];
      else refund(authority, charged.value);
      return [];
    });
    if (paid.length > 0) {
      const [pulled] = await Promise.allSettled([this.#pull(authority, page)]);
      const free = pulled.status === 'rejected' || (pulled.value.events.length === 0 && !pulled.value.has_more);
      for (const { reader, units } of paid) {
        if (free) refund(authority, units);
        if (pulled.status === 'fulfilled') reader.resolve(pulled.value);
        else reader.reject(pulled.reason);
      }
      if (free && pulled.status === 'fulfilled') for (const { reader } of refused) reader.resolve(pulled.value);
    }
    for (const { reader, reason } of refused) reader.reject(reason);
    for (const { reject } of readers) reject(new Failure('service_unavailable'));
  }

  #pull(authority: Authority, { subscription, after }: PageRange): Promise<EventPage> {
    const { db, keys, eventKey } = this.#options;
    const context = { access: { db, authority }, keys, eventKey };
    return new Caller(authority).take(pullPage(context, { subscription, after, limit: PAGE }));
  }

  /** Runs work when it is the turn of the app, and of its credential. */
  #takeTurn<T>({ appId, credentialId }: Authority, isWanted: () => boolean, work: () => Promise<T>): Promise<T> {
    return this.#reads.run(appId, work, { member: credentialId, isWanted });
  }

  /**
   * Runs work at the app's turn and charges one unit. Gives the unit back if the authority is stale, because the work
   * is then repeated and charged again.
   */
  #turn<T>(authority: Authority, wanted: () => boolean, work: () => Promise<T>): Promise<T> {
    return this.#takeTurn(authority, wanted, async () => {
      const units = await this.#options.charge(authority);
      try {
        return await work();
      } catch (error) {
        if (error instanceof StaleAuthority) this.#options.refund(authority, units);
        throw error;
      }
    });
  }
}

/**
 * Requests with the same key get exactly the same page. The digest stands for the token, whose properties never change.
 * The revision stands for the credential, which can change. The websites are in the key, because a session can have
 * fewer websites than its credential. No part contains a space.
 */
const keyOf = ({ digest, revision, websites }: Authority, { subscription, after }: PageRange): string =>
  [Buffer.from(digest).toString('base64'), revision, subscription, after, ...websites.keys()].join(' ');
