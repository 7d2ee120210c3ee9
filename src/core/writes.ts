import type { z } from 'zod';
import type { SubscriptionWrites } from './events.ts';
import type { FailureCode } from './failures.ts';
import type { RealtimeWrites } from './realtime.ts';
import type { View } from './view.ts';

type Members = Readonly<Record<string, unknown>>;

/**
 * A write to the records of a website. A module of src/writes declares each write once. The effect, the journal entry
 * and the receipt of a write are one atomic unit under the Idempotency-Key of the call. Author, website and
 * restrictions come from the call, so a command cannot name them.
 */
export interface Write<C extends Members = Members, R = unknown> {
  /** Name of the write. The tool, the operation in receipts and the case in gateway.write_batch have the same name. */
  readonly name: string;
  /** The member that holds the public id of the command's record. The caller must be able to see this record. */
  readonly about: readonly [member: string, view: View];
  /** Schema of the command that a handler gives to `perform`. */
  readonly command: z.ZodType<C>;
  /** Schema of the writer's answer. A handler gets the output of this schema. */
  readonly result: z.ZodType<R>;
  /** Name of the SQL function that performs the write. gateway.write_batch calls this function. */
  readonly writer: `platform.${string}`;
}

export const defineWrite = <C extends Members, R>(
  write: Write<C, R> & { readonly about: readonly [member: keyof C & string, view: View] },
): Write<C, R> => write;

/** Performs the command of a call once. A repeated call gets the first result. Throws a Failure after a refusal. */
export type Perform<W> = W extends Write<infer C, infer R> ? (command: C) => Promise<R> : never;

/** Writes to the gateway's own records. */
export interface Writes extends SubscriptionWrites, RealtimeWrites {}

/** A command in the form that a writer receives. The id of the command's record is a native id. */
export interface Command extends Members {
  readonly operation: string;
}

/**
 * Says how a command ended. `rejected`: the native data does not allow the command. The store keeps this outcome and
 * replays it. `refused`: the command could not begin. The store keeps nothing, and the Idempotency-Key is free again.
 */
export type Ending =
  | { readonly done: Readonly<Record<string, unknown>> }
  | { readonly rejected: FailureCode }
  | { readonly refused: FailureCode };

/**
 * A writer in another system, such as a helpdesk with its own API. The effect in that system and the receipt of the
 * gateway cannot commit together. The platform's own writer runs inside the ledger's statement, so it does not use this
 * interface.
 */
export interface RemoteWriter {
  /** Performs the command once under its operation id. Throws if a timeout or a lost reply hides the outcome. */
  perform(command: RemoteCommand, signal: AbortSignal): Promise<Ending>;
  /** Asks the other system how the command ended. `undefined` means that the other system does not know. */
  find(operationId: string, website: string): Promise<Ending | undefined>;
}

export interface RemoteCommand {
  readonly operationId: string;
  readonly website: string;
  readonly author: string;
  readonly command: Command;
}
