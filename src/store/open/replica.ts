import { type Fragment, sql } from '../../core/sql.ts';
import type { Standing } from '../calls/guard.ts';
import { type Database, isUnavailable, openDatabase, sqlState } from '../driver/postgres.ts';
import { lookAt, reaching, refusesSettings, requireReplica, requireSession } from './server.ts';

/** Whose rows an answer is made of, and from how far in the log: for `written` to prove. */
export interface Origin {
  readonly place: string;
  readonly replayed: string;
}

/** A streaming replica for reads that may lag. What it says stands only with a proof of the authority by the primary. */
export interface Replica {
  /** Whether it answers and lacks nothing that was committed 10 s ago, or `lag`. */
  current(): boolean;
  /**
   * The first row of `SELECT … statement` there, with its origin. The standing's guard says that the server which runs it is the primary's replica and holds what was there at `now`. `undefined` where the primary is
   * to be asked: for whatever reason, and at once when the replica is given up meanwhile.
   */
  read<Row extends object>(statement: (standing: Standing) => Fragment): Promise<(Row & Origin) | undefined>;
  close(): Promise<void>;
}

export interface ReplicaOptions {
  readonly url: string;
  readonly primary: Database;
  readonly name: string;
  readonly log: (message: string) => void;
  /** Milliseconds that what is read from it may be old. */
  readonly lag?: number;
  /** Milliseconds between looks at it. */
  readonly every?: number;
  /** Milliseconds that it is left alone when it has failed twice in a row. */
  readonly rest?: number;
  /** Counts what is under way on its connections. */
  readonly watch?: (db: Database, connections: number) => Database;
}

/** An app has at most two of them (store/driver/connections.ts). */
const CONNECTIONS = 3;
const LAG = 10_000;
const EVERY = 1_000;
const REST = 30_000;
/** Milliseconds for a look: it is away for whoever asks after that. */
const PATIENCE = 1_000;
/** Milliseconds for a read: with the 15 s of the primary after it, an answer comes before the 20 s of a silent socket. */
const TIMEOUT = 3_500;

/** Bytes of the log from its beginning: what the primary has on disk, and so may have streamed; what a replica has replayed. */
const FLUSHED: Fragment = sql`pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint`;
const REPLAYED: Fragment = sql`pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint`;

/**
 * Which rows a server has, as it says of itself: cluster, database, timeline. A replica tells the timeline of its last restart
 * point: after a failover it counts again once it has made one.
 */
const placeOf = (timeline: Fragment): Fragment =>
  sql`(SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() || ' ' || ${timeline}`;
const PRIMARY_PLACE = placeOf(sql`left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)`);
const REPLICA_PLACE = placeOf(sql`(SELECT upper(lpad(to_hex(timeline_id), 8, '0')) FROM pg_control_checkpoint())`);

/**
 * Whether the server that runs the statement, as the primary, has written all that an answer was made of: false where it was
 * promoted and began a log of its own, null where it is no primary any more.
 */
export const written = ({ place, replayed }: Origin): Fragment =>
  sql`CASE WHEN NOT pg_is_in_recovery() THEN ${PRIMARY_PLACE} = ${place} AND ${FLUSHED} >= ${replayed}::bigint END`;

/** What the primary had flushed at a moment: of its clock, and of this process. */
export interface Mark {
  readonly at: number;
  readonly now: Date;
  readonly place: string;
  readonly position: number;
}

/** Whether the server that runs the statement is the primary's replica and has replayed a mark: of this server, now. */
export const passing = ({ place, position }: Pick<Mark, 'place' | 'position'>): Fragment =>
  sql`(SELECT pg_is_in_recovery() AND ${REPLICA_PLACE} = ${place} AND ${REPLAYED} >= ${position}::bigint AS ok) guard`;

/**
 * Follows it by positions in the log: one that the primary had flushed at a moment, and that the replica has replayed,
 * tells that the replica holds what was there at that moment. No clocks are compared, and an idle store is no lag. Throws
 * StoreUnavailable where the address leads to another cluster or a pooler; a replica that is away at the start may come.
 */
export async function openReplica(options: ReplicaOptions): Promise<Replica> {
  const { url, primary, watch = (db: Database) => db } = options;
  const name = `${options.name}-replica`;
  const db = watch(
    openDatabase({ target: url, connections: CONNECTIONS, statementTimeout: TIMEOUT, name }),
    CONNECTIONS,
  );
  const probe = openDatabase({ target: url, connections: 1, statementTimeout: PATIENCE, name });
  const follow = new Follower(probe, options);
  const close = async (): Promise<void> => {
    await follow.stop();
    await Promise.all([db.close(), probe.close()]);
  };
  try {
    const [place, own] = await Promise.all([
      lookAt(probe).catch((error: unknown) => {
        // Away or too busy for it: the follower goes on looking. What refuses our settings is a pooler.
        if (isUnavailable(error) && !(error instanceof Error && refusesSettings(error))) return undefined;
        return reaching('DATABASE_REPLICA_URL', url, () => Promise.reject(error));
      }),
      lookAt(primary),
    ]);
    if (place) {
      requireReplica(place, own);
      requireSession(place, 'DATABASE_REPLICA_URL', PATIENCE);
    }
  } catch (error) {
    await close();
    throw error;
  }
  follow.start();
  return {
    current: () => follow.mark() !== undefined,
    read: async <Row extends object>(statement: (standing: Standing) => Fragment) => {
      const mark = follow.mark();
      if (!mark) return undefined;
      const standing = { guard: passing(mark), now: sql`${mark.now}::timestamptz` };
      const [row] = await follow.while(
        db.query<Row & { ok: boolean | null; replayed: string }>(
          sql`SELECT guard.ok, ${REPLAYED} AS replayed, ${statement(standing)}`,
        ),
      );
      return row?.ok ? { ...row, place: mark.place } : undefined;
    },
    close,
  };
}

class Follower {
  readonly #primary: Database;
  readonly #replica: Database;
  readonly #log: (message: string) => void;
  readonly #lag: number;
  readonly #every: number;
  readonly #rest: number;
  /** Later than `#passed`. */
  #marks: Mark[] = [];
  /** The latest that the replica has replayed. */
  #passed: Mark | undefined;
  /** Those who wait for an answer of it. */
  readonly #waiting = new Set<() => void>();
  #told = '';
  /** Whether that it fails was told since the last change, how often it has in a row, and until when it is left alone. */
  #failed = false;
  #failures = 0;
  #resting = 0;
  #timer: NodeJS.Timeout | undefined;
  #under: Promise<void> = Promise.resolve();

  constructor(replica: Database, { primary, log, lag = LAG, every = EVERY, rest = REST }: ReplicaOptions) {
    this.#primary = primary;
    this.#replica = replica;
    this.#log = log;
    this.#lag = lag;
    this.#every = every;
    this.#rest = rest;
  }

  /** What it holds, while that is not too old. */
  mark(): Mark | undefined {
    return this.#passed && performance.now() - this.#passed.at <= this.#lag ? this.#passed : undefined;
  }

  /** An answer of it; none where it fails or is given up meanwhile. */
  while<Row>(answer: Promise<Row[]>): Promise<Row[]> {
    return new Promise((resolve) => {
      const end = (rows: Row[]): void => {
        this.#waiting.delete(leave);
        resolve(rows);
      };
      const leave = (): void => end([]);
      this.#waiting.add(leave);
      answer.then(
        (rows) => {
          this.#failures = 0;
          end(rows);
        },
        (error: unknown) => {
          if (!this.#waiting.has(leave)) return; // it was given up before
          leave();
          // 22023: a time zone that it does not know, nor does the primary.
          if (sqlState(error) !== '22023') this.#fail(error);
        },
      );
    });
  }

  start(): void {
    const next = (): void => {
      this.#under = this.#look().then(() => {
        this.#timer = setTimeout(next, this.#every);
      });
    };
    next();
  }

  async stop(): Promise<void> {
    await this.#under;
    clearTimeout(this.#timer);
  }

  /** One report may be too much for it. Another one after that would cost its caller the same seconds, and so on. */
  #fail(error: unknown): void {
    if (++this.#failures > 1) {
      this.#resting = performance.now() + this.#rest;
      this.#lose('makes none', error);
    } else if (!this.#failed) {
      this.#failed = true;
      this.#log(`the replica could not make a report${codeOf(error)}: the primary does`);
    }
  }

  async #look(): Promise<void> {
    if (performance.now() < this.#resting) return;
    let seen: { standby: boolean; limited: boolean; place: string; position: string | null } | undefined;
    try {
      [seen] = await this.#replica.read(
        sql`SELECT pg_is_in_recovery() AS standby, ${REPLICA_PLACE} AS place, ${REPLAYED} AS position,
                   current_setting('statement_timeout')::interval = ${PATIENCE}::integer * interval '1 ms' AS limited`,
      );
    } catch (error) {
      return this.#lose('is away', error);
    }
    if (!seen?.standby) return this.#lose('was promoted and follows nobody');
    if (!seen.limited) return this.#lose('is behind a pooler');
    const at = performance.now();
    // Read after it: what it has replayed the primary has flushed by now. Where the primary does not answer, time tells.
    const own = await this.#primary
      .read<{ now: Date; place: string; position: string }>(
        sql`SELECT now() AS now, ${PRIMARY_PLACE} AS place, ${FLUSHED} AS position`,
      )
      .then(
        ([row]) => row,
        () => undefined,
      );
    const { place } = seen;
    const has = Number(seen.position ?? -1);
    if (own && (own.place !== place || has > Number(own.position)))
      return this.#lose('follows another server than DATABASE_URL');
    if (own) this.#marks.push({ at, now: own.now, place, position: Number(own.position) });
    this.#passed = this.#marks.findLast((mark) => mark.place === place && mark.position <= has) ?? this.#passed;
    const since = this.#passed?.at ?? Number.NEGATIVE_INFINITY;
    this.#marks = this.#marks.filter((mark) => mark.at > since && at - mark.at <= this.#lag);
    if (this.mark()) this.#tell('reports are read from the replica');
    else this.#giveUp(`is more than ${this.#lag / 1000} s behind`);
  }

  #lose(reason: string, error?: unknown): void {
    this.#marks = [];
    this.#passed = undefined;
    this.#giveUp(reason, error);
  }

  #giveUp(reason: string, error?: unknown): void {
    for (const leave of [...this.#waiting]) leave();
    this.#tell(`the primary makes the reports: the replica ${reason}`, error);
  }

  /** Each change once. */
  #tell(what: string, error?: unknown): void {
    if (what === this.#told) return;
    this.#told = what;
    this.#failed = false;
    this.#log(`${what}${codeOf(error)}`);
  }
}

/** The code of an error that is ours to tell; its words may hold data. */
function codeOf(error: unknown): string {
  const code = sqlState(error) || (error instanceof Error ? sqlState(error.cause) : '');
  return code && ` (${code})`;
}
