import { ForeignServerRefused, StoreUnreachable, sqlState } from '../../store/driver/errors.ts';
import { SourceRefused } from '../follow/explain.ts';
import { NotPerformed } from '../helpdesk.ts';
import type { SourceKind, SourceSettings } from '../kinds.ts';
import { OtherInstallation, PositionLost, type Source } from '../source.ts';

/** What a reader thread gets at its start. The address can contain a password, so this object stays in this process. */
export interface Opening {
  readonly kind: SourceKind;
  readonly settings: SourceSettings;
  readonly memory: SharedArrayBuffer;
  /** The rows that have stopped earlier readers. */
  readonly skipped: readonly string[];
}

/**
 * The calls of a reader. `reread` starts a walk, `next` returns its next page, `end` ends it. The first argument names
 * the walk. `part` returns the next part of a page.
 */
export type ReaderMethod = keyof Source | 'unlisten' | 'next' | 'end' | 'part';

export interface ThreadCall<Method extends string> {
  readonly id: number;
  readonly method: Method;
  readonly args: readonly unknown[];
}

/** Aborts the call with this id. The call still gets an answer. */
export interface Abort {
  readonly id: number;
  readonly abort: true;
}

/** The first part of a page. `left` more parts follow. They are fetched with the call id `of`. */
export interface Parted<Of> {
  readonly page: Of;
  readonly of: number;
  readonly left: number;
}

export type ThreadReply =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly error: SentError }
  | { readonly changed: true };

/** An error in the form in which a port sends it. An Error that a port copies loses its class and its code. */
export interface SentError {
  readonly class: keyof typeof CLASSES;
  readonly message: string;
  readonly code: string;
  readonly cause?: SentError;
  /** Only for NotPerformed. */
  readonly ending?: NotPerformed['ending'];
  readonly status?: number | undefined;
}

const CLASSES = { PositionLost, OtherInstallation, SourceRefused, StoreUnreachable, ForeignServerRefused, Error };
// Object.keys forgets the type of the keys. `Error`, the class of every error, is the last one.
const NAMES = Object.keys(CLASSES) as (keyof typeof CLASSES)[];

/** Returns the password as written in the address, and as the server gets it. */
function secretsOf(address: string): string[] {
  if (!URL.canParse(address)) return [address];
  const { password } = new URL(address);
  if (password === '') return [];
  // A password that cannot be decoded has only one form.
  return /%(?![0-9a-f]{2})/i.test(password) ? [password] : [password, decodeURIComponent(password)];
}

/** The texts that no error of a source may show. */
export const secretsIn = (address: string, token = ''): string[] =>
  [...secretsOf(address), token].filter((secret) => secret !== '');

/** Converts an error for sending to another thread, without the `secrets`. */
export function sent(error: unknown, secrets: readonly string[]): SentError {
  const known = error instanceof Error ? error : new Error(String(error));
  const message = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), known.message);
  return {
    class: NAMES.find((one) => known instanceof CLASSES[one]) ?? 'Error',
    message: message.slice(0, 2_000),
    code: sqlState(known),
    ...(known.cause instanceof Error && { cause: sent(known.cause, secrets) }),
    ...(known instanceof NotPerformed && { ending: known.ending, status: known.status }),
  };
}

/** Codes of the gateway's own store. A foreign server can also send them, but they mean nothing there. */
const OURS = /^GW/;

export function received({ class: name, message, code, cause, ending, status }: SentError): Error {
  if (ending !== undefined) return new NotPerformed(ending, message, cause && { cause: received(cause) }, status);
  const error = new CLASSES[name](message, cause && { cause: received(cause) });
  return code === '' || OURS.test(code) ? error : Object.assign(error, { code });
}

/** Milliseconds between two heartbeats. */
const BEAT = 500;

/** The memory that both threads share: a count that grows while the thread is not blocked, and the current row. */
const ROW = 8;
const LONGEST = 256;

export const newMemory = (): SharedArrayBuffer => new SharedArrayBuffer(ROW + LONGEST);

export class ThreadPulse {
  private readonly numbers: Int32Array;
  private readonly name: Buffer;

  constructor(memory: SharedArrayBuffer) {
    this.numbers = new Int32Array(memory, 0, 2);
    this.name = Buffer.from(memory, ROW, LONGEST);
  }

  get count(): number {
    return Atomics.load(this.numbers, 0);
  }

  get row(): string {
    return this.name.toString('utf8', 0, Atomics.load(this.numbers, 1));
  }

  /** Counts from now on, while the thread is not blocked. */
  start(): void {
    this.beat();
    setInterval(() => this.beat(), BEAT);
  }

  beat(): void {
    Atomics.add(this.numbers, 0, 1);
  }

  begin(row: string): void {
    Atomics.store(this.numbers, 1, this.name.write(row));
    this.beat();
  }
}
