import { type Fragment, sql } from '../../core/sql.ts';
import { isUnavailable, refusesSettings, sqlState } from '../driver/errors.ts';
import {
  FLUSHED,
  type Mark,
  PRIMARY_LINEAGE,
  passing,
  REPLAYED,
  REPLICA_LINEAGE,
  type Replica,
  type Standing,
} from '../driver/lineage.ts';
import { type Database, openDatabase } from '../driver/postgres.ts';
import { lookAt, reaching, requireReplica, requireSession } from './server.ts';

export interface ReplicaOptions {
  readonly url: string;
  readonly primary: Database;
  readonly name: string;
  readonly log: (message: string) => void;
  /** The largest age of the replica's data in milliseconds. */
  readonly lag?: number;
  /** Milliseconds between two checks of the replica. */
  readonly every?: number;
  /** After two failed reads in a row, the replica is not used for this many milliseconds. */
  readonly rest?: number;
  readonly watch?: (db: Database, connections: number) => Database;
}

/** Connections to the replica. An app holds at most two (store/driver/connections.ts). */
const CONNECTIONS = 3;
const LAG = 10_000;
const EVERY = 1_000;
const REST = 30_000;
/** The longest time of a check in milliseconds. If a check takes longer, the replica does not answer. */
const PATIENCE = 1_000;
/**
 * Timeout (ms) of a read on the replica. The primary may then take 15 s: together less than the 20 s of a silent
 * socket.
 */
const TIMEOUT = 3_500;

/**
 * Opens a replica and compares its log positions with the primary. When the replica has replayed a position that the
 * primary had flushed at some moment, the replica has all data of that moment. So the gateway compares no clocks, and
 * an idle store does not count as lag. Throws StoreUnavailable when the address leads to another cluster or to a
 * pooler. The replica can be down at the start.
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
    const [server, own] = await Promise.all([
      lookAt(probe).catch((error: unknown) => {
        // Down or busy: keep checking it. But a server that refuses the gateway's settings is a pooler, and an error.
        if (isUnavailable(error) && !(error instanceof Error && refusesSettings(error))) return undefined;
        return reaching('DATABASE_REPLICA_URL', url, () => Promise.reject(error));
      }),
      lookAt(primary),
    ]);
    if (server) {
      requireReplica(server, own);
      requireSession(server, 'DATABASE_REPLICA_URL', PATIENCE);
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
      return row?.ok ? { ...row, lineage: mark.lineage } : undefined;
    },
    close,
  };
}

class Follower {
  readonly #replica: Database;
  readonly #options: Required<Omit<ReplicaOptions, 'watch'>>;
  /** Marks (log positions of the primary) that the replica has not replayed yet. */
  #marks: Mark[] = [];
  #passed: Mark | undefined;
  /** One function for each running read. When the function is called, the read ends without rows. */
  readonly #waiting = new Set<() => void>();
  #told = '';
  /**
   * For reads: whether a failed report was logged since the last change of state, failures in a row, end of the pause.
   */
  #failed = false;
  #failures = 0;
  #resting = 0;
  #timer: NodeJS.Timeout | undefined;
  #under: Promise<void> = Promise.resolve();

  constructor(replica: Database, options: ReplicaOptions) {
    this.#replica = replica;
    this.#options = { lag: LAG, every: EVERY, rest: REST, ...options };
  }

  mark(): Mark | undefined {
    return this.#passed && performance.now() - this.#passed.at <= this.#options.lag ? this.#passed : undefined;
  }

  /** Returns the rows of an answer, or none if the read fails or the replica becomes unusable meanwhile. */
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
          if (!this.#waiting.has(leave)) return; // the caller no longer waits for this read
          leave();
          // 22023 is an unknown time zone, also for the primary, so the replica is not at fault.
          if (sqlState(error) !== '22023') this.#fail(error);
        },
      );
    });
  }

  start(): void {
    const next = (): void => {
      this.#under = this.#look().then(() => {
        this.#timer = setTimeout(next, this.#options.every);
      });
    };
    next();
  }

  async stop(): Promise<void> {
    await this.#under;
    clearTimeout(this.#timer);
  }

  /**
   * Counts a failed read. The first is only logged: one report may be too much for the replica. After a second in a
   * row, the replica rests, so that callers lose no time on it.
   */
  #fail(error: unknown): void {
    if (++this.#failures > 1) {
      this.#resting = performance.now() + this.#options.rest;
      this.#lose('failed twice in a row', error);
    } else if (!this.#failed) {
      this.#failed = true;
      this.#options.log(`the replica could not make a report${codeOf(error)}: it is read from the primary`);
    }
  }

  async #look(): Promise<void> {
    if (performance.now() < this.#resting) return;
    let seen: { standby: boolean; limited: boolean; lineage: string; position: string | null } | undefined;
    try {
      [seen] = await this.#replica.read(
        sql`SELECT pg_is_in_recovery() AS standby, ${REPLICA_LINEAGE} AS lineage, ${REPLAYED} AS position,
                   current_setting('statement_timeout')::interval = ${PATIENCE}::integer * interval '1 ms' AS limited`,
      );
    } catch (error) {
      return this.#lose('does not answer', error);
    }
    if (!seen?.standby) return this.#lose('was promoted and follows no primary');
    if (!seen.limited) return this.#lose('is behind a pooler');
    const at = performance.now();
    // Read the primary after the replica, so that it has flushed all that the replica replayed. Without an answer there
    // is no new mark, and the last one gets too old.
    const own = await this.#options.primary
      .read<{ now: Date; lineage: string; position: string }>(
        sql`SELECT now() AS now, ${PRIMARY_LINEAGE} AS lineage, ${FLUSHED} AS position`,
      )
      .then(
        ([row]) => row,
        () => undefined,
      );
    const { lineage } = seen;
    const has = Number(seen.position ?? -1);
    if (own && (own.lineage !== lineage || has > Number(own.position)))
      return this.#lose('follows another server than DATABASE_URL');
    if (own) this.#marks.push({ at, now: own.now, lineage, position: Number(own.position) });
    this.#passed = this.#marks.findLast((mark) => mark.lineage === lineage && mark.position <= has) ?? this.#passed;
    const since = this.#passed?.at ?? Number.NEGATIVE_INFINITY;
    this.#marks = this.#marks.filter((mark) => mark.at > since && at - mark.at <= this.#options.lag);
    if (this.mark()) this.#tell('reports are read from the replica');
    else this.#giveUp(`is more than ${this.#options.lag / 1000} s behind`);
  }

  #lose(reason: string, error?: unknown): void {
    this.#marks = [];
    this.#passed = undefined;
    this.#giveUp(reason, error);
  }

  #giveUp(reason: string, error?: unknown): void {
    for (const leave of [...this.#waiting]) leave();
    this.#tell(`reports are read from the primary: the replica ${reason}`, error);
  }

  #tell(what: string, error?: unknown): void {
    if (what === this.#told) return;
    this.#told = what;
    this.#failed = false;
    this.#options.log(`${what}${codeOf(error)}`);
  }
}

/** The code of an error, for the log. The message of the error is not logged, because the message can hold data. */
function codeOf(error: unknown): string {
  const code = sqlState(error) || (error instanceof Error ? sqlState(error.cause) : '');
  return code && ` (${code})`;
}
