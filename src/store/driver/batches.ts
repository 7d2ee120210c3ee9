import type { Fragment, Value } from '../../core/sql.ts';
import { late, QUEUED } from './errors.ts';
import { bound, type Sent } from './statement.ts';

interface WaitingRead {
  readonly values: readonly Value[];
  resolve(rows: object[]): void;
  reject(error: unknown): void;
}

interface Batch {
  readonly app: string;
  readonly text: string;
  readonly reads: WaitingRead[];
}

/**
 * Reads in a batch. A smaller batch is filled up with rows that read nothing, so each statement has one text for its
 * batches, which PostgreSQL plans once. With arrays as parameters, PostgreSQL would plan each batch again. The sizes 2, 4
 * and 8, or up to 16 reads, were not faster.
 */
const SIZE = 8;
/** Reads of a statement whose last run took longer (ms) are not combined: they would wait for one another. */
const FAST = 20;
/** The largest number of statements that are known. A gateway in normal use has some hundred. */
const STATEMENTS = 2_000;
/** The column with the number of a read in its batch. */
const NUMBER = '~n';

/** Names of the types that parameters have, by object id (pg_type.oid). */
const TYPES: Readonly<Record<number, string>> = {
  16: 'boolean',
  17: 'bytea',
  20: 'bigint',
  21: 'smallint',
  23: 'integer',
  25: 'text',
  1007: 'integer[]',
  1009: 'text[]',
  1016: 'bigint[]',
  1184: 'timestamptz',
};

/**
 * Combines reads of one app that wait for a connection at the same time and have the same SQL: they become rows of one
 * statement. Each row proves its own authority, at the same snapshot as its data. A lone read is sent as it is.
 *
 * Measured: see docs/benchmarks.md.
 */
export class Batches {
  readonly #open: Batch[] = [];
  /** The SQL of a batch, by the SQL of its reads. */
  readonly #known = new Map<string, string>();
  readonly #most: number;

  /** `most`: how many reads of one app may wait. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Called after a lone run, with the types that PostgreSQL gave to the parameters, and the time (ms) of the run. */
  ran({ texts: pieces }: Fragment, text: string, oids: readonly number[], took: number): void {
    if (took > FAST) this.#known.delete(text);
    if (took > FAST || this.#known.has(text)) return;
    const types = oids.map((oid) => TYPES[oid]).filter((type) => type !== undefined);
    if (types.length === 0 || types.length < pieces.length - 1) return;
    if (this.#known.size >= STATEMENTS) this.#known.clear();
    this.#known.set(text, batchText(pieces, types));
  }

  /**
   * The rows of a read that waits for a connection. `run` waits for it, calls `sent` in its turn, and runs the result.
   * Undefined if the statement cannot be shared.
   */
  join<Row extends object>(
    app: string,
    text: string,
    values: readonly Value[],
    run: (sent: () => Sent) => Promise<object[]>,
  ): Promise<Row[]> | undefined {
    const known = this.#known.get(text);
    if (!known) return undefined;
    const waiting = this.#open.reduce((sum, one) => (one.app === app ? sum + one.reads.length : sum), 0);
    if (waiting >= this.#most) return Promise.reject(late(QUEUED));
    return new Promise<object[]>((resolve, reject) => {
      const read = { values, resolve, reject };
      const joined = this.#open.find((one) => one.app === app && one.text === text && one.reads.length < SIZE);
      if (joined) joined.reads.push(read);
      else this.#begin({ app, text, reads: [read] }, known, run);
    }) as Promise<Row[]>; // the rows of a batch are those of its statement, whose caller declares their type
  }

  #begin(batch: Batch, known: string, run: (sent: () => Sent) => Promise<object[]>): void {
    const { reads } = batch;
    this.#open.push(batch);
    const close = (): void => {
      const at = this.#open.indexOf(batch);
      if (at >= 0) this.#open.splice(at, 1);
    };
    const began = (): Sent => {
      close();
      return sentOf(batch, known);
    };
    run(began).then(
      (rows) => {
        if (reads.length === 1) {
          reads[0]?.resolve(rows);
          return;
        }
        const each = reads.map((): object[] => []);
        for (const row of rows as { [NUMBER]: number }[]) each[row[NUMBER] - 1]?.push(row); // sentOf selects the column
        reads.forEach(({ resolve }, i) => {
          resolve(each[i] ?? []);
        });
      },
      (error: unknown) => {
        close();
        for (const { reject } of reads) reject(error);
      },
    );
  }
}

function sentOf({ text, reads }: Batch, known: string): Sent {
  const [first] = reads;
  if (reads.length === 1 && first) return { text, parameters: first.values.map(bound) };
  // A row without the digest of a token proves no authority, and so reads nothing.
  const filling = first?.values.map((value) => (value instanceof Uint8Array ? new Uint8Array() : value)) ?? [];
  const rows = Array.from({ length: SIZE }, (_, i) => reads[i]?.values ?? filling);
  return { text: known, parameters: rows.flatMap((values) => values.map(bound)) };
}

/** OFFSET 0 keeps PostgreSQL from planning the batch as one join, which could read a whole table. */
function batchText(pieces: readonly string[], types: readonly string[]): string {
  const rows = Array.from({ length: SIZE }, (_, row) => {
    const values = types.map((type, i) => `$${row * types.length + i + 1}::${type}`);
    return `(${[row + 1, ...values].join(', ')})`;
  });
  const one = pieces.reduce((all, piece, i) => (i === 0 ? piece : `${all}batch.p${i}${piece}`), '');
  const names = types.map((_, i) => `p${i + 1}`).join(', ');
  return `SELECT batch.n AS "${NUMBER}", one.* FROM (VALUES ${rows.join(', ')}) batch (n, ${names})
    CROSS JOIN LATERAL (${one} OFFSET 0) one`;
}
