import PQueue from 'p-queue';
import type { Authority } from '../../core/authority.ts';
import type { EventPage } from '../../core/events.ts';
import { Failure } from '../../core/failures.ts';
import type { Database } from '../../store/postgres.ts';
import { type Ack, type HeldSession, readAck } from '../../store/realtime.ts';
import { readSubscription } from '../../store/subscriptions.ts';
import { type CursorKeys, readCursor, writeCursor } from '../cursors.ts';
import { pullPage } from '../pull.ts';
import { Acks } from './acks.ts';
import { Heads, type HeadsOptions } from './heads.ts';

export interface PagesOptions extends HeadsOptions {
  readonly keys: CursorKeys;
  readonly eventKey: () => Promise<Uint8Array>;
  /** Charges a page; throws `quota_exceeded`. */
  readonly charge: (authority: Authority) => Promise<unknown>;
  /** The authority as the store has it now, for a session's websites; `undefined`: it has ended. */
  readonly authority: (authority: Authority) => Promise<Authority | undefined>;
}

/** Statements for sockets at the same time: what else the process answers has to get its turn. */
const TOGETHER = 4;
/** Receipts of a page (contract, Limits). */
const PAGE = 100;

/** What the sockets of a process read and store, a few statements at a time. */
export class Pages {
  readonly keys: CursorKeys;
  readonly charge: PagesOptions['charge'];
  readonly authority: PagesOptions['authority'];
  readonly onError: (error: unknown) => void;
  readonly #db: Database;
  readonly #eventKey: PagesOptions['eventKey'];
  readonly #heads: Heads;
  readonly #acks: Acks;
  readonly #queue = new PQueue({ concurrency: TOGETHER });

  constructor(options: PagesOptions) {
    this.keys = options.keys;
    this.charge = options.charge;
    this.authority = options.authority;
    this.onError = options.onError;
    this.#db = options.db;
    this.#eventKey = options.eventKey;
    this.#heads = new Heads(options);
    this.#acks = new Acks(options.db);
  }

  /**
   * Where a stream of a subscription begins: behind `after`, or behind what was acknowledged last in the session, or where
   * its start says. Throws the Failure that a pull from there would meet, but for a held family.
   */
  async open(
    authority: Authority,
    { session, subscription, after }: HeldSession & { subscription: string; after: string | undefined },
  ): Promise<{ revision: number; cursor: string }> {
    const reading = { db: this.#db, authority, verified: false };
    const row = await this.#turn(() => readSubscription(reading, subscription));
    const { revision } = row;
    const kept = after ?? (await this.#turn(() => readAck(this.#db, session, subscription, revision)));
    if (after !== undefined && readCursor(this.keys, after) === undefined) throw new Failure('invalid_cursor');
    const ids = new Map([...authority.websites.values()].map(({ id, site }) => [site, id]));
    const { credentialId: credential, environment } = authority;
    const positions = new Map(row.sites.map((site, i) => [ids.get(site) ?? '', row.positions[i] ?? 0]));
    const cursor = kept ?? writeCursor(this.keys, { subscription, revision, credential, environment, positions });
    await this.read(authority, { subscription, after: cursor }).catch((error: unknown) => {
      if (!(error instanceof Failure) || error.code !== 'event_family_paused') throw error;
    });
    return { revision, cursor };
  }

  read(authority: Authority, { subscription, after }: { subscription: string; after: string }): Promise<EventPage> {
    const session = { db: this.#db, authority, verified: false };
    return this.#turn(() =>
      pullPage({ session, keys: this.keys, eventKey: this.#eventKey }, { subscription, after, limit: PAGE }),
    );
  }

  ack(ack: Ack): Promise<boolean> {
    return this.#acks.store(ack);
  }

  /** Tells of each change on these websites, until what it returns is called. */
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

  #turn<T>(work: () => Promise<T>): Promise<T> {
    return this.#queue.add(work);
  }
}
