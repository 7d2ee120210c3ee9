import type { z } from 'zod';
import type { SubscriptionWrites } from './events.ts';
import type { FailureCode } from './failures.ts';
import type { RealtimeWrites } from './realtime.ts';
import type { View } from './view.ts';

type Members = Readonly<Record<string, unknown>>;

/**
 * A write to the records of a website, declared once in a module of src/writes. The effect, the journal entry and the
 * receipt are one atomic unit under the Idempotency-Key of the call. Author, website and restrictions come from the
 * call, so a command cannot name them.
 */
export interface Write<C extends Members = Members, R = unknown> {
  /** Name of the tool, of the operation in its receipts, and of the command's case in gateway.write_batch. */
  readonly name: string;
  /** The member with the public id of the record that the command is about. The caller must be able to see it. */
  readonly about: readonly [member: string, view: View];
  /** What a handler gives to `perform`. */
  readonly command: z.ZodType<C>;
  /** What the writer answers. A handler gets the output of this schema. */
  readonly result: z.ZodType<R>;
  /** The function of the platform's own writer. gateway.write_batch calls it. */
  readonly writer: `platform.${string}`;
}

export const defineWrite = <C extends Members, R>(
  write: Write<C, R> & { readonly about: readonly [member: keyof C & string, view: View] },
): Write<C, R> => write;

/** Performs the command of a call, once. A repeated call gets the result of the first. Throws a Failure if refused. */
export type Perform<W> = W extends Write<infer C, infer R> ? (command: C) => Promise<R> : never;

/** Writes to the gateway's own records. */
export interface Writes extends SubscriptionWrites, RealtimeWrites {}

/**
 * A command as a writer receives it: the members of its schema. The record that the command is about has its native id,
 * on the website of the call.
 */
export interface Command extends Members {
  readonly operation: string;
}

/**
 * How a command ended. `rejected`: the state of the native data does not allow it; this outcome is stored and replayed.
 * `refused`: the command could not begin; nothing is stored, and the Idempotency-Key is free again.
 */
export type Ending =
  | { readonly done: Readonly<Record<string, unknown>> }
  | { readonly rejected: FailureCode }
  | { readonly refused: FailureCode };

/**
 * A native writer in another system, such as a helpdesk with its own API. Its effect and our receipt cannot commit
 * together. The platform's own writer does not use this interface, because it runs inside the ledger's statement.
 */
export interface RemoteWriter {
  /**
   * Performs the command once under its operation id. Throws if the outcome is uncertain: a timeout or a lost reply.
   */
  perform(command: RemoteCommand, signal: AbortSignal): Promise<Ending>;
  /** Asks the other system how the command ended. `undefined`: the other system does not know. */
  find(operationId: string, website: string): Promise<Ending | undefined>;
}

export interface RemoteCommand {
  readonly operationId: string;
  readonly website: string;
  readonly author: string;
  readonly command: Command;
}
