import type { SubscriptionWrites } from './events.ts';
import type { FailureCode } from './failures.ts';
import type { RealtimeWrites } from './realtime.ts';

/**
 * What a handler may ask of the write side: one command a call. Its effect, its journal entry and its receipt are one
 * atomic unit under the call's Idempotency-Key; a repeated call is given the answer of the first. Author, website and
 * restrictions are the call's own and cannot be passed. Refusals are Failures.
 */
export interface Writes extends SubscriptionWrites, RealtimeWrites {
  /** A note in the name of the mapped author. */
  addNote(note: { visitor: string; text: string }): Promise<NoteAdded>;
  setDisposition(change: { conversation: string; disposition: string }): Promise<void>;
  /** Records the run of a language-detection feature on a text that is not kept. */
  detectLanguage(run: {
    feature: string;
    expectedVersion: number;
    text: string;
    /** What is answered where the text does not tell. */
    fallback: string | null;
  }): Promise<LanguageDetected>;
  /** What a change of a feature would do; nothing is changed. */
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

/** A command as the ledger and a native writer see it: ids are native ids of the call's website. */
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
 * How a command ended. `rejected`: the native business state said no; that is an outcome, kept and replayed. `refused`:
 * the command could not begin, nothing is kept and the key is free.
 */
export type Ending =
  | { readonly done: Readonly<Record<string, unknown>> }
  | { readonly rejected: FailureCode }
  | { readonly refused: FailureCode };

/**
 * A native writer that is another system, such as a helpdesk behind an API of its own: its effect and our receipt cannot
 * commit together. The platform's own writer is no such port, it runs inside the ledger's statement.
 */
export interface RemoteWriter {
  /** Performs the command under that id, once. Throws where the outcome is uncertain: a time-out, a lost reply. */
  perform(command: RemoteCommand, signal: AbortSignal): Promise<Ending>;
  /** What became of the command, asked of the other system: `undefined` where that cannot tell. */
  find(operationId: string, website: string): Promise<Ending | undefined>;
}

export interface RemoteCommand {
  readonly operationId: string;
  readonly website: string;
  readonly author: string;
  readonly command: Command;
}
