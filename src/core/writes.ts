import type { SubscriptionWrites } from './events.ts';
import type { FailureCode } from './failures.ts';
import type { RealtimeWrites } from './realtime.ts';

/**
 * The writes that a handler may ask for: one command for each call. The effect, the journal entry and the receipt are
 * one atomic unit under the Idempotency-Key of the call. A repeated call gets the answer of the first call. Author,
 * website and restrictions come from the call; a handler cannot pass them. A refused command throws a Failure.
 */
export interface Writes extends SubscriptionWrites, RealtimeWrites {
  /** Adds a note in the name of the mapped author. */
  addNote(note: { visitor: string; text: string }): Promise<NoteAdded>;
  setDisposition(change: { conversation: string; disposition: string }): Promise<void>;
  /** Runs a language-detection feature on a text and records the run. The text is not stored. */
  detectLanguage(run: {
    feature: string;
    expectedVersion: number;
    text: string;
    /** The answer if the language of the text cannot be detected. */
    fallback: string | null;
  }): Promise<LanguageDetected>;
  /** Previews a change of a feature. It changes nothing. */
  planChanges(plan: { feature: string; expectedVersion: number; changes: FeatureChanges }): Promise<PlanPreview>;
}

export interface NoteAdded {
  readonly note_id: number;
  readonly author: string;
  /** RFC 3339, UTC. */
  readonly created_at: string;
}

export interface LanguageDetected {
  readonly version: number;
  readonly language: string | null;
}

export interface FeatureChanges {
  readonly name?: string | undefined;
  readonly enabled?: boolean | undefined;
}

export interface PlanPreview {
  readonly version: number;
  readonly changes: readonly {
    readonly field: string;
    readonly from: string | boolean;
    readonly to: string | boolean;
  }[];
}

/** A command as the ledger and a native writer receive it. Its ids are native ids of the call's website. */
export type Command =
  | { readonly operation: 'visitor_note_add'; readonly visitor: string; readonly text: string }
  | { readonly operation: 'conversation_disposition_set'; readonly conversation: string; readonly disposition: string }
  | {
      readonly operation: 'ai_feature_execute';
      readonly feature: string;
      readonly expected_version: number;
      readonly language: string | null;
    }
  | {
      readonly operation: 'config_plan';
      readonly feature: string;
      readonly expected_version: number;
      readonly changes: FeatureChanges;
    };

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
