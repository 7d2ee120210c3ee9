import { type Fragment, raw, sql } from '../../core/sql.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { Position } from '../source.ts';
import { CHUNK, type ContentProblem, contentAt, inlineContent } from './content.ts';
import { digestsOf, type PersonDigest } from './digests.ts';
import { type FileRecord, type Prepared, prepareFile, prepareRecord } from './prepare.ts';
import type { RecordType } from './records.ts';
import type { Reject } from './rejects.ts';
import type { StagedRow, StoredContent } from './row.ts';
import { explainLostLease, type Run } from './run.ts';

/** The position after the last staged record, in a file or in a source. */
export type After =
  | { readonly file: number; readonly offset: number; readonly line: number }
  | { readonly position: Position | null };

/** Where a record comes from. `origin` is the row name in a source. */
export interface At {
  readonly file: number;
  readonly line: number;
  readonly origin?: string;
}

type RowProblem = Pick<Reject, 'pointer' | 'code'>;

const ROWS = 1000;
const BYTES = 4 * 1024 * 1024;
/** The most characters of one statement. It matters for loads, which the serving thread stages (see engine/page.ts). */
const HEAVY = 1024 * 1024;

/**
 * Writes lines into the staging tables, usually about a thousand in one statement. While PostgreSQL stores these lines,
 * the class checks the next lines. One statement can wait while another one runs, so that neither PostgreSQL nor the
 * class is idle. Each statement records the position after its last line.
 */
export class Stage {
  private rows = columns();
  private rejects: object[] = [];
  private counts = new Map<string, { read: number; rejected: number }>();
  private bytes = 0;
  private pieces: { seq: number; chunk: number; bytes: Buffer }[] = [];
  private pieceBytes = 0;
  private before: Promise<unknown> = Promise.resolve();
  private under: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly db: Database,
    private readonly run: Pick<Run, 'slot' | 'epoch' | 'place'>,
    private seq: number,
    /** Undefined if nobody was ever erased. */
    private readonly digest?: PersonDigest,
  ) {}

  /**
   * Stages one line or record. Returns a promise only if the caller must wait for a file: awaiting every line would
   * take a sixth of the checking time (measured).
   */
  record(at: At, json: unknown, folder: string | null): Promise<void> | undefined {
    return this.prepared(at, prepareRecord(json, this.run.place.live), folder);
  }

  prepared(at: At, prepared: Prepared, folder: string | null): Promise<void> | undefined {
    if ('refused' in prepared) return this.refuse(at, prepared.type, prepared.refused);
    return 'file' in prepared ? this.file(at, prepared.file, folder) : this.keep(at, prepared.row);
  }

  private async file(at: At, record: FileRecord, folder: string | null): Promise<void> {
    const seq = this.seq + 1;
    const take = async (first: number, bytes: Buffer): Promise<void> => {
      for (let i = 0; i * CHUNK < bytes.length; i++) {
        this.pieces.push({ seq, chunk: first + i, bytes: bytes.subarray(i * CHUNK, (i + 1) * CHUNK) });
      }
      this.pieceBytes += bytes.length;
      if (this.pieceBytes >= BYTES) await this.flushContent();
    };
    const content: StoredContent | ContentProblem =
      !('content_base64' in record) || record.content_base64 === undefined
        ? await contentAt(folder, record.path ?? '', take)
        : await inlineContent(record.content_base64, take);
    if (typeof content === 'string' && !('size' in record))
      return this.refuse(at, 'file', [{ pointer: '/path', code: content }]);
    const prepared = prepareFile(record, typeof content === 'string' ? undefined : content);
    if ('row' in prepared) this.keep(at, prepared.row);
    else if ('refused' in prepared) this.refuse(at, 'file', prepared.refused);
  }

  /** True if the staged rows are too long to share a statement with more rows. */
  get heavy(): boolean {
    return this.bytes >= HEAVY;
  }

  get full(): boolean {
    return this.rows.type.length + this.rejects.length >= ROWS || this.bytes >= BYTES;
  }

  async flush(after: After): Promise<void> {
    await this.flushContent();
    const { stage, reject, lease } = this.run.place;
    const [rows, rejects, counts] = [this.rows, this.rejects, this.counts];
    this.rows = columns();
    this.rejects = [];
    this.counts = new Map();
    this.bytes = 0;
    const read = [...counts].map(([type, count]) => ({ type, ...count }));
    // In this parameter, line breaks separate the values of a column. JSON, numbers, types and times contain none.
    const column = (values: readonly (string | number | null)[]): Fragment =>
      sql`string_to_array(${values.join('\n')}::text, E'\\n', '')`;
    await this.start(sql`WITH lease AS MATERIALIZED (SELECT ${lease}), kept AS (
        INSERT INTO ${raw(stage)} (file, type, seq, line, origin, external_id, owner, at, refs, links, data, digests)
        SELECT r.file, r.type, r.seq, r.line, r.origin, r.external_id, r.owner, r.at::timestamptz, r.refs::text[], r.links::text[], r.data::json, r.digests::text[]
          FROM lease, unnest(${column(rows.type)}, ${column(rows.seq)}::bigint[], ${column(rows.file)}::integer[], ${column(rows.line)}::bigint[], ${column(rows.origin)}, ${rows.external_id}::text[],
            ${rows.owner}::text[], ${column(rows.at)}, ${rows.refs}::text[], ${rows.links}::text[], ${column(rows.data)}, ${rows.digests}::text[])
            AS r (type, seq, file, line, origin, external_id, owner, at, refs, links, data, digests)
      ), refused AS (
        INSERT INTO ${raw(reject)} (seq, place, file, line, origin, pointer, code)
        SELECT r.* FROM lease, jsonb_to_recordset(${JSON.stringify(rejects)}::text::jsonb)
          AS r (seq bigint, place integer, file integer, line bigint, origin text, pointer text, code text)
      )
      SELECT gateway.import_staged(${this.run.slot}, ${this.run.epoch}, ${JSON.stringify(after)}::text::jsonb, ${this.seq},
                                   ${JSON.stringify(read)}::text::jsonb)`);
  }

  async settled(): Promise<void> {
    await this.under.catch(explainLostLease);
  }

  /** Queues a statement behind the running one. If another statement is already queued, first waits until it runs. */
  private async start(statement: Fragment): Promise<void> {
    await this.before.catch(explainLostLease);
    this.before = this.under;
    this.under = this.under.then(() => this.db.query(statement));
    // The next call of `start` or `settled` reports a failure. This handler prevents an unhandled rejection before
    // that.
    this.under.catch(() => undefined);
  }

  private async flushContent(): Promise<void> {
    if (this.pieces.length === 0) return;
    const { pieces } = this;
    this.pieces = [];
    this.pieceBytes = 0;
    let from = 1;
    const index = pieces.map(({ seq, chunk, bytes }) => {
      const entry = { seq, chunk, start: from, length: bytes.length };
      from += bytes.length;
      return entry;
    });
    await this.start(sql`WITH lease AS MATERIALIZED (SELECT ${this.run.place.lease})
      INSERT INTO ${raw(this.run.place.chunk)} (seq, chunk, bytes)
      SELECT p.seq, p.chunk, substring(${Buffer.concat(pieces.map((piece) => piece.bytes))}::bytea FROM p.start FOR p.length)
        FROM lease, jsonb_to_recordset(${JSON.stringify(index)}::text::jsonb)
          AS p (seq bigint, chunk integer, start integer, length integer)
      ON CONFLICT (seq, chunk) DO UPDATE SET bytes = excluded.bytes`);
  }

  private keep({ file, line, origin }: At, row: StagedRow): undefined {
    this.count(row.type).read++;
    const data = JSON.stringify(row.data);
    this.bytes += data.length;
    const { rows } = this;
    rows.type.push(row.type);
    rows.seq.push(++this.seq);
    rows.file.push(file);
    rows.line.push(line);
    rows.origin.push(origin ?? null);
    rows.external_id.push(row.external_id);
    rows.owner.push(row.owner ?? null);
    rows.at.push(row.at ?? null);
    rows.refs.push(row.refs === undefined ? null : arrayText(row.refs));
    rows.links.push(row.links === undefined ? null : arrayText(row.links));
    rows.data.push(data);
    const digests = this.digest === undefined ? undefined : digestsOf(this.digest, row);
    rows.digests.push(digests === undefined ? null : arrayText(digests));
  }

  refuse({ file, line, origin }: At, type: RecordType | '', problems: readonly RowProblem[]): undefined {
    const count = this.count(type);
    count.read++;
    count.rejected++;
    this.seq++;
    const told = new Set<string>();
    for (const { pointer, code } of problems) {
      if (told.has(`${pointer} ${code}`)) continue;
      this.rejects.push({ seq: this.seq, place: told.size, file, line, origin, pointer, code });
      told.add(`${pointer} ${code}`);
    }
  }

  private count(type: string): { read: number; rejected: number } {
    const count = this.counts.get(type) ?? { read: 0, rejected: 0 };
    this.counts.set(type, count);
    return count;
  }
}

function columns() {
  return {
    type: empty<string>(),
    seq: empty<number>(),
    file: empty<number>(),
    line: empty<number>(),
    origin: empty<string | null>(),
    external_id: empty<string>(),
    owner: empty<string | null>(),
    at: empty<string | null>(),
    refs: empty<string | null>(),
    links: empty<string | null>(),
    data: empty<string>(),
    digests: empty<string | null>(),
  };
}

const empty = <T>(): T[] => [];

const arrayText = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : `"${value.replaceAll(/["\\]/g, '\\$&')}"`)).join(',')}}`;
