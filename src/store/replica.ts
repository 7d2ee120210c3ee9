import { sql } from '../core/sql.ts';
import { lookAt, reaching, requireReplica } from './place.ts';
import { type Database, openDatabase, StoreUnreachable } from './postgres.ts';

/** A streaming replica for reads that may lag. What it says stands only with a proof of the authority by the primary. */
export interface Replica {
  /** While it answers and lacks nothing that was committed 10 s ago, or `lag`. */
  current(): Database | undefined;
  close(): Promise<void>;
}

export interface ReplicaOptions {
  readonly url: string;
  readonly primary: Database;
  readonly statementTimeout: number;
  readonly name: string;
  readonly log: (message: string) => void;
  /** Milliseconds that what is read from it may be old. */
  readonly lag?: number;
}

const LAG = 10_000;
/** Milliseconds between looks at it, and for one: it is away for whoever asks after that. */
const EVERY = 1_000;
const PATIENCE = 1_000;

/**
 * Follows it by positions in the log: one that the primary had flushed at a moment, and that the replica has replayed,
 * tells that the replica holds what was there at that moment. No clocks are compared, and an idle store is no lag. Throws
 * StoreUnavailable where the address leads to something else; a replica that is away at the start may come.
 */
export async function openReplica({ url, primary, statementTimeout, name, log, lag = LAG }: ReplicaOptions) {
  const db = openDatabase({ target: url, connections: 2, statementTimeout, name: `${name}-replica` });
  const probe = openDatabase({ target: url, connections: 1, statementTimeout: PATIENCE, name: `${name}-replica` });
  const follow = new Follower(primary, probe);
  const close = async (): Promise<void> => {
    await follow.stop();
    await Promise.all([db.close(), probe.close()]);
  };
  try {
    const [place, own] = await Promise.all([
      lookAt(probe).catch((error: unknown) => {
        if (error instanceof StoreUnreachable) return undefined;
        return reaching('DATABASE_REPLICA_URL', url, () => Promise.reject(error));
      }),
      lookAt(primary),
    ]);
    if (place) requireReplica(place, own);
    else log('the replica of DATABASE_REPLICA_URL cannot be reached; the primary makes the reports meanwhile');
  } catch (error) {
    await close();
    throw error;
  }
  follow.start();
  return { current: () => (follow.age() <= lag ? db : undefined), close } satisfies Replica;
}

class Follower {
  readonly #primary: Database;
  readonly #replica: Database;
  /** Moments (of this process) and what the primary had flushed by then, later than `#holds`. */
  #marks: { readonly at: number; readonly position: number }[] = [];
  /** The replica holds what was there at this moment. */
  #holds = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #under: Promise<void> = Promise.resolve();

  constructor(primary: Database, replica: Database) {
    this.#primary = primary;
    this.#replica = replica;
  }

  /** Milliseconds since then. */
  age(): number {
    return performance.now() - this.#holds;
  }

  start(): void {
    const next = (): void => {
      this.#under = this.#look().then(() => {
        this.#timer = setTimeout(next, EVERY);
      });
    };
    next();
  }

  async stop(): Promise<void> {
    await this.#under;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const at = performance.now();
    try {
      const [[flushed], [replayed]] = await Promise.all([
        this.#primary.read<{ position: string }>(
          sql`SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint AS position`,
        ),
        this.#replica.read<{ position: string | null }>(
          // One that was promoted follows nobody any more.
          sql`SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint AS position WHERE pg_is_in_recovery()`,
        ),
      ]);
      this.#marks.push({ at, position: Number(flushed?.position) });
      const has = Number(replayed?.position ?? -1);
      const passed = this.#marks.findLast(({ position }) => position <= has);
      if (passed) this.#holds = passed.at;
      this.#marks = this.#marks.filter((mark) => mark.at > this.#holds && at - mark.at <= LAG);
      if (!replayed) this.#holds = Number.NEGATIVE_INFINITY;
    } catch {
      // Away, or the primary is: whoever reads goes to the primary, and is told there.
      this.#holds = Number.NEGATIVE_INFINITY;
      this.#marks = [];
    }
  }
}
