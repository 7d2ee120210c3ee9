import type { z } from 'zod';
import type { SubscriptionWrites } from './events.ts';
import type { FailureCode } from './failures.ts';
import type { RealtimeWrites } from './realtime-session.ts';
import type { View } from './view.ts';

type Members = Readonly<Record<string, unknown>>;

/**
 * A write to a website's records, one for each module in src/writes. The effect, the journal entry and the stored
 * outcome commit together, once for each Idempotency-Key. Author, website and restrictions come from the call, so a
 * command cannot choose them.
 */
export interface Write<C extends Members = Members, R = unknown> {
  readonly name: string;
  /** The member with the record's id, and the record's view. The caller must be allowed to see the record. */
  readonly about: readonly [member: string, view: View];
  readonly result: z.ZodType<R>;
  /** The type of the command. Its values are judged where they come in: most by the tool's input schema. */
  readonly '~command'?: C;
  /**
   * The SQL function that makes the change. All these functions have the parameters that gateway.write_batch passes.
   */
  readonly writer: `platform.${string}`;
}

/** Takes the type of the command first: `defineWrite<{ visitor: string }>()({ … })`. */
export const defineWrite =
  <C extends Members>() =>
  <R>(write: Write<C, R> & { readonly about: readonly [member: keyof C & string, view: View] }): Write<C, R> =>
    write;

/** Performs a command once. A repeated call gets the first result. A refused command throws a Failure. */
export type Perform<W> = W extends Write<infer C, infer R> ? (command: C) => Promise<R> : never;

export interface Writes extends SubscriptionWrites, RealtimeWrites {}

/** A command for a writer. The record is named by its native id. */
export interface Command extends Members {
  readonly operation: string;
}

/**
 * How a command ended. `rejected`: the data does not allow it. The outcome is stored, and a repeated call gets it
 * again. `refused`: the command never began. Nothing is stored, so its Idempotency-Key can be used again.
 */
export type Ending =
  | { readonly done: Readonly<Record<string, unknown>> }
  | { readonly rejected: FailureCode }
  | { readonly refused: FailureCode };

/**
 * A writer that changes data in another system, such as a helpdesk with an API. That system and the gateway cannot
 * commit together. Without a RemoteWriter, an SQL function makes the change.
 */
export interface RemoteWriter {
  /** True if the writer serves only websites whose live source has an API. The default is all websites. */
  readonly onlySources?: boolean;
  /** Performs the command once for its operation id. Throws if the outcome is unknown, for example after a timeout. */
  perform(command: RemoteCommand, signal: AbortSignal): Promise<Ending>;
  /** Asks the other system how the command ended. Undefined: the system does not know. */
  find(operationId: string, website: string): Promise<Ending | undefined>;
}

export interface RemoteCommand {
  readonly operationId: string;
  readonly website: string;
  readonly author: string;
  readonly command: Command;
}
