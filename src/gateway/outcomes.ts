import { Failure } from '../core/failures.ts';
import type { Ending } from '../core/writes.ts';
import type { Entry } from '../store/calls/ledger.ts';

/** The operation of a write, as a surface reports it. */
export interface OperationState {
  readonly id: string;
  /** True when the answer repeats the answer of an earlier call. */
  readonly replayed: boolean;
}

/** Failure codes by ledger state, for commands that the ledger holds without an outcome for this call. */
const CODES = {
  pending: 'operation_in_progress',
  reserved: 'operation_in_progress',
  unknown: 'outcome_unknown',
  forgotten: 'outcome_unknown',
  conflict: 'idempotency_conflict',
} as const;

/**
 * Returns the result of a ledger entry, or throws the Failure of the entry. `report` receives the operation first. The
 * ledger does not store a refused command, so a refused command has no operation to report. `operationId` is undefined
 * for a command without a key.
 */
export function resultOf(
  entry: Entry,
  operationId: string | undefined,
  report: (operation: OperationState) => void,
): Readonly<Record<string, unknown>> {
  const refused = 'outcome' in entry && 'refused' in entry.outcome;
  if (operationId !== undefined && !refused) report({ id: operationId, replayed: entry.state === 'settled' });
  if ('outcome' in entry) return doneOf(entry.outcome);
  const code = CODES[entry.state];
  throw new Failure(code, code === 'operation_in_progress' ? { retryAfter: 1 } : {});
}

function doneOf(outcome: Ending): Readonly<Record<string, unknown>> {
  if ('done' in outcome) return outcome.done;
  throw new Failure('rejected' in outcome ? outcome.rejected : outcome.refused);
}
