import { bytesOf, drawFence } from '../core/fence.ts';
import type { Projection } from '../core/view.ts';

/** The largest text, in bytes of UTF-8. */
export const TEXT_BYTES = 65_536;
/** The limit of everything but messages, so that messages have room. */
const HEAD_BYTES = 40_960;
export const NOTES_BYTES = 16_384;
/** The files that a message lists. */
const FILES = 10;

/** Values that need no fence: ids, times, telephone numbers, and words of a fixed list. None has a space. */
const PLAIN = /^[\w+:.-]{1,80}$/;

const told = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value : null);

/** Takes the parts of a record one after the other. `RecordText` writes for models, `RecordParts` for people. */
export interface RecordWriter {
  readonly truncated: boolean;
  /** Marks the text as incomplete: the record has further parts, which the writer does not get. */
  cutHere(): void;
  /** Adds a value of the service. `name` is the name of the team or channel that it identifies. Skips null. */
  fact(label: string, value: unknown, name?: unknown): void;
  /** Adds words that people wrote. Skips empty words. */
  said(label: string, words: unknown): void;
  phone(label: string, row: Projection, kind: 'mobile' | 'phone'): void;
  operator(id: string, name: unknown): void;
  contacts(rows: readonly Projection[]): void;
  visitors(rows: readonly Projection[]): void;
  conversations(rows: readonly Projection[]): void;
  /** Newest first. */
  notes(rows: readonly Projection[]): void;
  /** Adds the next older message. False if there is no room for it. */
  message(row: Projection, files: readonly Projection[]): boolean;
}

/** One record as text. Outsiders' words stand in fences, which each answer draws anew. */
export class RecordText implements RecordWriter {
  readonly #fence = drawFence();
  readonly #lines: string[] = [this.#fence.notice];
  /** Newest first. */
  readonly #messages: string[] = [];
  #size = bytesOf(this.#fence.notice);
  truncated = false;

  constructor(opening: string) {
    this.#line(opening);
  }

  cutHere(): void {
    this.truncated = true;
  }

  whole(): string {
    return [...this.#lines, ...this.#messages.toReversed()].join('\n');
  }

  #heading(words: string): void {
    this.#line(`\n${words}`);
  }

  /** Leaves out a line that does not fit. */
  #line(words: string): void {
    const size = this.#size + bytesOf(words) + 1;
    if (size > HEAD_BYTES) {
      this.truncated = true;
      return;
    }
    this.#lines.push(words);
    this.#size = size;
  }

  /**
   * A line with a value of the service, such as an id. An unusual value gets a fence: the store does not check each
   * one.
   */
  fact(label: string, value: unknown, name?: unknown): void {
    const words = typeof value === 'number' || typeof value === 'boolean' ? String(value) : told(value);
    if (words !== null && PLAIN.test(words)) this.#line(`${label}: ${words} ${this.#words(name)}`.trimEnd());
    else this.said(label, words);
  }

  said(label: string, words: unknown): void {
    if (told(words) !== null) this.#line(`${label}: ${this.#words(words)}`);
  }

  /** Words of outsiders for the middle of a line, with a space before. Empty if there are none. */
  #words(words: unknown): string {
    const known = told(words);
    return known === null ? '' : this.#fence.inline(known);
  }

  /** Words of outsiders with labels, without those that are empty. */
  #labelled(values: Readonly<Record<string, unknown>>): string[] {
    return Object.entries(values).flatMap(([label, words]) =>
      told(words) === null ? [] : [`${label} ${this.#words(words)}`],
    );
  }

  operator(id: string, name: unknown): void {
    this.#line(`Operator: ${id} ${this.#words(name)}`.trimEnd());
  }

  /** Adds a telephone number in E.164 form, which the service writes, or as outsiders wrote it. */
  phone(label: string, row: Projection, kind: 'mobile' | 'phone'): void {
    const normal = told(row[`${kind}_e164`]);
    if (normal === null) this.said(label, row[kind]);
    else this.fact(label, normal);
  }

  conversations(rows: readonly Projection[]): void {
    if (rows.length > 0) this.#heading('Conversations, newest first');
    for (const { id, created_at, status, subject } of rows)
      this.#line(['-', `${id},`, `${created_at},`, status, this.#words(subject)].join(' ').trimEnd());
  }

  visitors(rows: readonly Projection[]): void {
    if (rows.length > 0) this.#heading('Visitors, newest first');
    for (const { id, nickname, last_seen_at } of rows)
      this.#line(
        ['-', id, this.#words(nickname), last_seen_at && `last seen ${last_seen_at}`].filter(Boolean).join(' '),
      );
  }

  contacts(rows: readonly Projection[]): void {
    if (rows.length > 0) this.#heading('Contacts');
    for (const { id, name, email, mobile_e164, mobile } of rows)
      this.#line([`- ${id}`, ...this.#labelled({ name, 'e-mail': email, mobile: mobile_e164 ?? mobile })].join(', '));
  }

  /** Adds notes until their space is used up. */
  notes(rows: readonly Projection[]): void {
    if (rows.length > 0) this.#heading('Notes of operators, newest first');
    let left = NOTES_BYTES;
    for (const { created_at, author, title, text, text_truncated } of rows) {
      const head = [`- ${created_at ?? 'time unknown'}`, ...this.#labelled({ author, title })].join(', ');
      const note = this.#block(head, String(text ?? ''), left);
      if (note === undefined) {
        this.cutHere();
        return;
      }
      if (text_truncated === true) this.cutHere();
      left -= bytesOf(note) + 1;
      this.#line(note);
    }
  }

  message(row: Projection, files: readonly Projection[]): boolean {
    if (this.#messages.length === 0) this.#heading('Messages, oldest first');
    const message = this.#message(row, files, TEXT_BYTES - this.#size - 1);
    if (message === undefined) return false;
    this.#messages.push(message);
    this.#size += bytesOf(message) + 1;
    return true;
  }

  /** One message of at most `bytes` bytes. Undefined if it would have no words in this size. */
  #message(row: Projection, files: readonly Projection[], bytes: number): string | undefined {
    const author = Object(row['author']) as { type?: string; id?: string | null; name?: string | null }; // the view of messages has these members
    const head = [
      `${row['id']}, ${row['created_at']},`,
      ...[author.type, author.id, this.#words(author.name)].filter(Boolean),
      ...(row['visibility'] === 'internal' ? ['(internal)'] : []),
      ...(Object(row['ai'])['generated'] === true ? ['(written by AI)'] : []),
    ].join(' ');
    if (files.length > FILES) this.cutHere();
    const attached = files
      .slice(0, FILES)
      .map(
        ({ id, name, media_type, size }) =>
          `\nfile ${id} ${this.#words(name)} ${this.#words(media_type)} ${size} bytes`,
      )
      .join('');
    const words = row['redacted'] === true ? null : told(row['text']);
    if (row['text_truncated'] === true) this.cutHere();
    if (words !== null) {
      const block = this.#block(head, words, bytes - bytesOf(attached));
      return block && `${block}${attached}`;
    }
    const empty = `${head}${row['redacted'] === true ? '\n(the text was removed)' : ''}${attached}`;
    return bytesOf(empty) <= bytes ? empty : undefined;
  }

  /** A line with outsiders' words under it, cut if fewer than `bytes` bytes are left. */
  #block(head: string, words: string, bytes: number): string | undefined {
    const room = bytes - bytesOf(`${head}\n${this.#fence.block('')}\n`);
    if (room < 200 && room < bytesOf(words)) return undefined;
    if (room < bytesOf(words)) this.cutHere();
    return `${head}\n${this.#fence.block(words, room)}`;
  }
}
