import type { FailureCode } from '../core/failures.ts';

/** A note as the helpdesk keeps it. */
export interface SentNote {
  /** The start of the external_id that the source gives to the note of each visitor. */
  readonly prefix: string;
  readonly text: string;
  /** The creation time as RFC 3339. */
  readonly at: string;
}

/** The place of a write: the external_id of a contact or a conversation, and the id of the operation. */
export interface Place {
  readonly operationId: string;
  readonly target: string;
}

/**
 * The REST API of a helpdesk, for the writes of the gateway. A method that throws NotPerformed has had no effect. After
 * any other error, nobody knows whether the write had an effect. No method sends a write a second time.
 */
export interface Helpdesk {
  addNote(
    place: Place,
    note: { readonly text: string; readonly author: string },
    signal: AbortSignal,
  ): Promise<SentNote>;
  /** Returns the disposition that the conversation has in the helpdesk afterwards. */
  setDisposition(place: Place, value: string, signal: AbortSignal): Promise<string>;
  /** Looks for the effect of a write. Undefined says that the effect is not there yet. The effect can still come. */
  findNote(place: Place, signal: AbortSignal): Promise<SentNote | undefined>;
  findDisposition(place: Place, signal: AbortSignal): Promise<string | undefined>;
  close(): Promise<void>;
}

/**
 * The write had no effect. `refused`: the write did not begin, and a repetition with the same key can succeed. `rejected`:
 * the helpdesk does not accept the write. The message is for the operator's log and holds no data of customers.
 */
export class NotPerformed extends Error {
  override readonly name = 'NotPerformed';

  constructor(
    readonly ending: { readonly refused: FailureCode } | { readonly rejected: FailureCode },
    message: string,
    options?: ErrorOptions,
    /** The HTTP status of the helpdesk's answer. */
    readonly status?: number,
  ) {
    super(message, options);
  }
}

export const refused = (message: string, code: FailureCode = 'native_unavailable', cause?: unknown): NotPerformed =>
  new NotPerformed({ refused: code }, message, { cause });
