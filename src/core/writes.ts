import type { z } from 'zod';
import type { SubscriptionWrites } from './events.ts';
import type { FailureCode } from './failures.ts';
import type { RealtimeWrites } from './realtime.ts';
import type { View } from './view.ts';

type Members = Readonly<Record<string, unknown>>;

/**
 * A write to the records of a website. Each module in src/writes declares one write. The effect, the journal entry and
 * the stored outcome commit together, once for each Idempotency-Key. Author, website and restrictions come from the
 * call, so a command cannot choose them.
 */
export interface Write<C extends Members = Members, R = unknown> {
  readonly name: string;
  /** The command's member with the id of the record, and the view of this record. The caller must see the record. */
  readonly about: readonly [member: string, view: View];
  readonly command: z.ZodType<C>;
  readonly result: z.ZodType<R>;
  /**
   * Name of the SQL function that makes the change. gateway.write_batch calls this function. All these functions have
   * the same parameters.
   */
  readonly writer: `platform.${string}`;
}

export const defineWrite = <C extends Members, R>(
  write: Write<C, R> & { readonly about: readonly [member: keyof C & string, view: View] },
): Write<C, R> => write;

/** Performs a command once. A repeated call gets the first result. A refused command throws a Failure. */
export type Perform<W> = W extends Write<infer C, infer R> ? (command: C) => Promise<R> : never;

export interface Writes extends SubscriptionWrites, RealtimeWrites {}

/** A command for a writer. The record is named by its native id. */
export interface Command extends Members {
  readonly operation: string;
}

/**
 * How a command ended. `rejected`: the data does not allow the command. The gateway stores this outcome, and a repeated
 * call gets the same outcome. `refused`: the command did not begin. Nothing is stored, so the Idempotency-Key can be
 * used again.
 */
export type Ending =
  | { readonly done: Readonly<Record<string, unknown>> }
  | { readonly rejected: FailureCode }
  | { readonly refused: FailureCode };

/**
 * A writer that changes data in another system, such as a helpdesk with an API. The other system and the gateway cannot
 * commit together. The gateway's default writer is an SQL function, which does not implement this interface.
 */
export interface RemoteWriter {
  /** True when the writer serves only websites whose live source has an API. By default, the writer serves all websites. */
  readonly onlySources?: boolean;
  /** Performs the command once for its operation id. Throws if the outcome is unknown, for example after a timeout. */
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
