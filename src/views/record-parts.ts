import { bytesOf } from '../core/fence.ts';
import type { Projection } from '../core/view.ts';
import { NOTES_BYTES, type RecordWriter, TEXT_BYTES } from './record-text.ts';

/** `name` is the name of the operator, team or channel that `value` identifies. */
export interface RecordFact {
  readonly label: string;
  readonly value: string;
  readonly name?: string;
  /** True if outsiders wrote the value. */
  readonly said: boolean;
}

export interface RecordMessage {
  readonly row: Projection;
  readonly files: readonly Projection[];
}

/** Bytes that every message and every file counts, beside the message's text. */
const HEAD_BYTES = 100;

const known = (words: unknown): words is string => typeof words === 'string' && words.trim() !== '';

/** The parts of one record, for a page that people read. Outsiders' words have no fences here. */
export class RecordParts implements RecordWriter {
  readonly facts: RecordFact[] = [];
  readonly lists: Partial<Record<'contacts' | 'visitors' | 'conversations' | 'notes', readonly Projection[]>> = {};
  readonly #messages: RecordMessage[] = [];
  #size = 0;
  truncated = false;

  /** Oldest first. */
  get messages(): readonly RecordMessage[] {
    return this.#messages.toReversed();
  }

  cutHere(): void {
    this.truncated = true;
  }

  fact(label: string, value: unknown, name?: unknown): void {
    if (typeof value === 'boolean') this.facts.push({ label, value: value ? 'yes' : 'no', said: false });
    else if (typeof value === 'number' || known(value))
      this.facts.push({ label, value: String(value), said: false, ...(known(name) && { name }) });
  }

  said(label: string, words: unknown): void {
    if (known(words)) this.facts.push({ label, value: words, said: true });
  }

  phone(label: string, row: Projection, kind: 'mobile' | 'phone'): void {
    this.said(label, row[`${kind}_e164`] ?? row[kind]);
  }

  operator(id: string, name: unknown): void {
    this.fact('Operator', id, name);
  }

  contacts(rows: readonly Projection[]): void {
    this.lists.contacts = rows;
  }

  visitors(rows: readonly Projection[]): void {
    this.lists.visitors = rows;
  }

  conversations(rows: readonly Projection[]): void {
    this.lists.conversations = rows;
  }

  notes(rows: readonly Projection[]): void {
    let left = NOTES_BYTES;
    const kept = rows.filter(({ text }) => {
      const fits = left > 0;
      left -= bytesOf(String(text ?? '')) + HEAD_BYTES;
      return fits;
    });
    this.lists.notes = kept;
    if (kept.length < rows.length || kept.some((row) => row['text_truncated'] === true)) this.cutHere();
  }

  message(row: Projection, files: readonly Projection[]): boolean {
    if (this.#size >= TEXT_BYTES) return false;
    this.#size += bytesOf(String(row['text'] ?? '')) + HEAD_BYTES * (1 + files.length);
    if (row['text_truncated'] === true) this.cutHere();
    this.#messages.push({ row, files });
    return true;
  }
}
