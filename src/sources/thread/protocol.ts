import { ForeignServerRefused, StoreUnreachable, sqlState } from '../../store/driver/errors.ts';
import { SourceRefused } from '../follow/explain.ts';
import { NotPerformed } from '../helpdesk.ts';
import type { SourceKind, SourceSettings } from '../kinds.ts';
import { OtherInstallation, PositionLost } from '../lost.ts';
import type { Source } from '../source.ts';

/** What the thread of a reader needs. The address can hold a password, so it stays in this process. */
export interface Opening {
  readonly kind: SourceKind;
  readonly settings: SourceSettings;
  readonly memory: SharedArrayBuffer;
  /** The rows that have stopped earlier readers. */
  readonly skipped: readonly string[];
}

/**
 * What a reader is asked. `reread` begins a walk, `next` gives its next page, and `end` ends it. The first argument names
 * the walk. `part` gives the next part of a page.
 */
export type ReaderMethod =
  | Exclude<keyof Source, 'listen' | 'reread'>
  | 'listen'
  | 'unlisten'
  | 'reread'
  | 'next'
  | 'end'
  | 'part';

export interface Call<Method extends string> {
  readonly id: number;
  readonly method: Method;
  readonly args: readonly unknown[];
}

/** Aborts the call with this id. The call still answers. */
export interface Abort {
  readonly id: number;
  readonly abort: true;
}

/** The first part of a page. `left` parts follow, which the call with the id `of` has. */
export interface Parted<Of> {
  readonly page: Of;
  readonly of: number;
  readonly left: number;
}

export type Reply =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly error: SentError }
  | { readonly changed: true };

/** An error as it crosses the port. An error that is copied by the port loses its class and its code. */
export interface SentError {
  readonly class: keyof typeof CLASSES;
  readonly message: string;
  readonly code: string;
  readonly cause?: SentError;
  /** What only NotPerformed has. */
  readonly ending?: NotPerformed['ending'];
  readonly status?: number | undefined;
}

const CLASSES = { PositionLost, OtherInstallation, SourceRefused, StoreUnreachable, ForeignServerRefused, Error };
const NAMES = [
  'PositionLost',
  'OtherInstallation',
  'SourceRefused',
  'StoreUnreachable',
  'ForeignServerRefused',
] as const;

/** The password as it stands in the address, and as the server gets it. */
export function secretsOf(address: string): string[] {
  if (!URL.canParse(address)) return [address];
  const { password } = new URL(address);
  if (password === '') return [];
  // A password that cannot be decoded has one form only.
  return /%(?![0-9a-f]{2})/i.test(password) ? [password] : [password, decodeURIComponent(password)];
}

/** Makes an error ready to cross. `secrets` must not cross. */
export function sent(error: unknown, secrets: readonly string[]): SentError {
  const known = error instanceof Error ? error : new Error(String(error));
  const name = NAMES.find((one) => known instanceof CLASSES[one]);
  const message = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), known.message);
  return {
    class: name ?? 'Error',
    message: message.slice(0, 2_000),
    code: sqlState(known),
    ...(known.cause instanceof Error && { cause: sent(known.cause, secrets) }),
    ...(known instanceof NotPerformed && { ending: known.ending, status: known.status }),
  };
}

/** The codes of the gateway's own store. The server of somebody else can send them too, and there they mean nothing. */
const OURS = /^GW/;

export function received({ class: name, message, code, cause, ending, status }: SentError): Error {
  if (ending !== undefined) return new NotPerformed(ending, message, cause && { cause: received(cause) }, status);
  const error = new CLASSES[name](message, cause && { cause: received(cause) });
  return code === '' || OURS.test(code) ? error : Object.assign(error, { code });
}

/** Milliseconds between two heartbeats. */
const BEAT = 500;

/** The memory that both threads see: a count that grows while the thread is not held, and the row that a reader works on. */
const ROW = 8;
const LONGEST = 256;

export const newMemory = (): SharedArrayBuffer => new SharedArrayBuffer(ROW + LONGEST);

export class Pulse {
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

  /** Beats from now on, while the thread is not held. */
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
