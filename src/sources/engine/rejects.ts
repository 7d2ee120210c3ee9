import { raw, sql } from '../../core/sql.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { Run } from './run.ts';

export interface Reject {
  readonly file: string;
  readonly line: number;
  /** A JSON Pointer (RFC 6901) into the record. An empty pointer means the whole line. */
  readonly pointer: string;
  readonly code: string;
}

export interface StoredReject {
  readonly seq: number;
  readonly place: number;
  readonly file: number;
  readonly line: number;
  /** The row of a source. Null for files. */
  readonly origin: string | null;
  readonly pointer: string;
  readonly code: string;
}

const PAGE = 5000;

export async function* storedRejects(db: Database, { place: { reject } }: Run): AsyncGenerator<StoredReject[]> {
  let [seq, place] = [0, -1];
  for (;;) {
    const page = await db.query<StoredReject>(sql`
      SELECT seq::float8 AS seq, place, file, line::float8 AS line, origin, pointer, code FROM ${raw(reject)}
       WHERE (seq, place) > (${seq}::bigint, ${place}::integer) ORDER BY seq, place LIMIT ${PAGE}`);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    ({ seq, place } = last);
  }
}
