import type { FailureCode } from '../core/failures.ts';

/** A note as the helpdesk stores it. */
export interface SentNote {
  /** The start of the external_ids of the note. The source gives the note one external_id for each visitor. */
  readonly prefix: string;
  readonly text: string;
  /** The creation time as RFC 3339. */
  readonly at: string;
}

/** A message to send. The helpdesk shows the user of the token as its author. */
export interface OutgoingReply {
  readonly text: string;
  readonly internal: boolean;
}

/** A message as the helpdesk stores it. */
export interface SentReply extends OutgoingReply {
  /** The external_id that the source gives to the message. */
  readonly id: string;
  /** The external_id of the operator whom the helpdesk shows as author. */
  readonly author: string | undefined;
  /** The creation time as RFC 3339. */
  readonly at: string;
}

/** A change of a conversation. Operators and teams are external_ids. An operator of null takes it from its operator. */
export type ConversationChange =
  | { readonly status: string; readonly until: string | undefined }
  | { readonly operator: string | null }
  | { readonly team: string };

/** A conversation as the helpdesk has it after a change. */
export interface SentChange {
  /** `open`, `pending`, `snoozed` or `closed`. */
  readonly status: string;
  readonly operator: string | undefined;
  readonly team: string | undefined;
  /** The time of this state as RFC 3339. Undefined if the helpdesk does not tell it. */
  readonly at: string | undefined;
  /** True if the helpdesk gave the conversation another operator with its status, and that operator stays. */
  readonly reassigned: boolean;
}

/** The place of a write: the external_id of a contact or a conversation, and the id of the operation. */
export interface WriteTarget {
  readonly operationId: string;
  readonly target: string;
}

/**
 * The REST API of a helpdesk for writes. NotPerformed means that the write had no effect. After any other error, the
 * effect is unknown. No method sends a write twice.
 */
export interface Helpdesk {
  addNote(
    place: WriteTarget,
    note: { readonly text: string; readonly author: string },
    signal: AbortSignal,
  ): Promise<SentNote>;
  /** Returns the disposition that the conversation has in the helpdesk afterwards. */
  setDisposition(place: WriteTarget, value: string, signal: AbortSignal): Promise<string>;
  addReply(place: WriteTarget, reply: OutgoingReply, signal: AbortSignal): Promise<SentReply>;
  /** The status leaves the operator as it was. */
  changeConversation(place: WriteTarget, change: ConversationChange, signal: AbortSignal): Promise<SentChange>;
  /** Looks for the effect of a write. Undefined says that the effect is not there yet. The effect can still come. */
  findNote(place: WriteTarget, signal: AbortSignal): Promise<SentNote | undefined>;
  findDisposition(place: WriteTarget, signal: AbortSignal): Promise<string | undefined>;
  findReply(place: WriteTarget, signal: AbortSignal): Promise<SentReply | undefined>;
  findChange(place: WriteTarget, signal: AbortSignal): Promise<SentChange | undefined>;
  close(): Promise<void>;
}

/**
 * The write had no effect. `refused`: it did not start, and a retry with the same key can succeed. `rejected`: the
 * helpdesk does not accept it. The message is for the operator's log and contains no customer data.
 */
export class NotPerformed extends Error {
  override readonly name = 'NotPerformed';

  constructor(
    readonly ending: { readonly refused: FailureCode } | { readonly rejected: FailureCode },
    message: string,
    options?: ErrorOptions,
    readonly status?: number,
  ) {
    super(message, options);
  }
}

export const refused = (message: string, code: FailureCode = 'native_unavailable', cause?: unknown): NotPerformed =>
  new NotPerformed({ refused: code }, message, { cause });
