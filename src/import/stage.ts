import { sql } from '../core/sql.ts';
import type { Database } from '../store/postgres.ts';
import { CHUNK, type ContentProblem, contentAt, inlineContent } from './content.ts';
import type { Line } from './lines.ts';
import { parseRecord } from './parse-record.ts';
import { RECORD_TYPES } from './records.ts';
import { type Row, rowOf, type StoredContent } from './row.ts';
import { explainFence } from './run.ts';

/** Position after the lines staged so far. */
export interface Position {
  /** File of the lines; `next` when it has no more. */
  readonly file: number;
  readonly next?: boolean;
  readonly offset: number;
  readonly line: number;
}

interface Problem {
  readonly pointer: string;
  readonly code: string;
}

const ROWS = 4000;
const BYTES = 4 * 1024 * 1024;

/**
 * Puts lines into the staging tables, several thousand a statement, and checks the next ones while PostgreSQL stores
 * them: one statement is under way at a time, the position that it records is the position after its last line.
 */
export class Stage {
  private rows = columns();
  private rejects: object[] = [];
  private counts = new Map<string, { read: number; rejected: number }>();
  private bytes = 0;
  private pieces: { seq: number; chunk: number; bytes: Buffer }[] = [];
  private pieceBytes = 0;
  private under: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly db: Database,
    private readonly epoch: number,
    private seq: number,
  ) {}

  async line(at: { file: number; line: number }, line: Line, folder: string | null): Promise<void> {
    if (line.text === null) return this.refuse(at, '', [{ pointer: '', code: line.code ?? 'invalid_utf8' }]);
    if (line.text.trim() === '') return;
    let json: unknown;
    try {
      json = JSON.parse(line.text);
    } catch {
      return this.refuse(at, '', [{ pointer: '', code: 'invalid_json' }]);
    }
    await this.record(at, json, folder);
  }

  async record(at: { file: number; line: number }, json: unknown, folder: string | null): Promise<void> {
    const parsed = parseRecord(json);
    if (!parsed.ok) return this.refuse(at, typeOf(json), parsed.problems);
    const { record } = parsed;
    if (record.type !== 'file') return this.keep(at, rowOf(record));
    const seq = this.seq + 1;
    const take = async (first: number, bytes: Buffer): Promise<void> => {
      for (let i = 0; i * CHUNK < bytes.length; i++) {
        this.pieces.push({ seq, chunk: first + i, bytes: bytes.subarray(i * CHUNK, (i + 1) * CHUNK) });
      }
      this.pieceBytes += bytes.length;
      if (this.pieceBytes >= BYTES) await this.flushContent();
    };
    const content: StoredContent | ContentProblem =
      record.content_base64 === undefined
        ? await contentAt(folder, record.path ?? '', take)
        : await inlineContent(record.content_base64, take);
    if (typeof content === 'string') return this.refuse(at, 'file', [{ pointer: '/path', code: content }]);
    this.keep(at, rowOf(record, content));
  }

  get full(): boolean {
    return this.rows.type.length + this.rejects.length >= ROWS || this.bytes >= BYTES;
  }

  /** Sends what is gathered, after what was sent before has been stored. */
  async flush(position: Position): Promise<void> {
    await this.flushContent();
    const [rows, rejects, counts] = [this.rows, this.rejects, this.counts];
    this.rows = columns();
    this.rejects = [];
    this.counts = new Map();
    this.bytes = 0;
    const read = [...counts].map(([type, count]) => ({ type, ...count }));
    await this.settled();
    // JSON holds no line break, so that the longest column needs no quoting.
    this.start(sql`WITH fence AS MATERIALIZED (SELECT gateway.import_fence(${this.epoch})), kept AS (
        INSERT INTO gateway.import_stage (file, type, seq, line, external_id, owner, at, refs, links, data)
        SELECT ${position.file}, r.type, r.seq, r.line, r.external_id, r.owner, r.at::timestamptz, r.refs::text[], r.links::text[], r.data::json
          FROM fence, unnest(${rows.type}::text[], ${rows.seq}::bigint[], ${rows.line}::bigint[], ${rows.external_id}::text[],
            ${rows.owner}::text[], ${rows.at}::text[], ${rows.refs}::text[], ${rows.links}::text[],
            string_to_array(${rows.data.join('\n')}::text, E'\\n'))
            AS r (type, seq, line, external_id, owner, at, refs, links, data)
      ), refused AS (
        INSERT INTO gateway.import_reject (seq, place, file, line, pointer, code)
        SELECT r.* FROM fence, jsonb_to_recordset(${JSON.stringify(rejects)}::text::jsonb)
          AS r (seq bigint, place integer, file integer, line bigint, pointer text, code text)
      )
      SELECT gateway.import_staged(${this.epoch}, ${position.file + (position.next === true ? 1 : 0)}, ${position.offset}, ${position.line}, ${this.seq},
                                   ${JSON.stringify(read)}::text::jsonb)`);
  }

  /** Waits until everything sent is stored. */
  async settled(): Promise<void> {
    await this.under.catch(explainFence);
  }

  private start(statement: Parameters<Database['query']>[0]): void {
    this.under = this.db.query(statement);
    // It is awaited before the next one; until then a failure must not count as unhandled.
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
    await this.settled();
    this.start(sql`WITH fence AS MATERIALIZED (SELECT gateway.import_fence(${this.epoch}))
      INSERT INTO gateway.import_chunk (seq, chunk, bytes)
      SELECT p.seq, p.chunk, substring(${Buffer.concat(pieces.map((piece) => piece.bytes))}::bytea FROM p.start FOR p.length)
        FROM fence, jsonb_to_recordset(${JSON.stringify(index)}::text::jsonb)
          AS p (seq bigint, chunk integer, start integer, length integer)
      ON CONFLICT (seq, chunk) DO UPDATE SET bytes = excluded.bytes`);
  }

  private keep({ line }: { line: number }, row: Row): void {
    this.count(row.type).read++;
    const data = JSON.stringify(row.data);
    this.bytes += data.length;
    const { rows } = this;
    rows.type.push(row.type);
    rows.seq.push(++this.seq);
    rows.line.push(line);
    rows.external_id.push(row.external_id);
    rows.owner.push(row.owner ?? null);
    rows.at.push(row.at ?? null);
    rows.refs.push(row.refs === undefined ? null : arrayText(row.refs));
    rows.links.push(row.links === undefined ? null : arrayText(row.links));
    rows.data.push(data);
  }

  private refuse({ file, line }: { file: number; line: number }, type: string, problems: readonly Problem[]): void {
    const count = this.count(type);
    count.read++;
    count.rejected++;
    this.seq++;
    const told = new Set<string>();
    for (const { pointer, code } of problems) {
      if (told.has(`${pointer} ${code}`)) continue;
      this.rejects.push({ seq: this.seq, place: told.size, file, line, pointer, code });
      told.add(`${pointer} ${code}`);
    }
  }

  private count(type: string): { read: number; rejected: number } {
    const count = this.counts.get(type) ?? { read: 0, rejected: 0 };
    this.counts.set(type, count);
    return count;
  }
}

function typeOf(json: unknown): string {
  const named = typeof json === 'object' && json !== null && 'type' in json ? json.type : undefined;
  return RECORD_TYPES.find((type) => type === named) ?? '';
}

function columns() {
  return {
    type: empty<string>(),
    seq: empty<number>(),
    line: empty<number>(),
    external_id: empty<string>(),
    owner: empty<string | null>(),
    at: empty<string | null>(),
    refs: empty<string | null>(),
    links: empty<string | null>(),
    data: empty<string>(),
  };
}

const empty = <T>(): T[] => [];

/** PostgreSQL's text form of an array. */
const arrayText = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : `"${value.replaceAll(/["\\]/g, '\\$&')}"`)).join(',')}}`;
