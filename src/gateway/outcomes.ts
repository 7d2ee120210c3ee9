import { Failure } from '../core/failures.ts';
import type { Receipt } from '../core/reads.ts';
import type { Ending } from '../core/writes.ts';
import type { Entry } from '../store/calls/ledger.ts';

export interface OperationState {
  readonly id: string;
  /** True if this answer repeats the result of an earlier call. */
  readonly replayed: boolean;
}

/** The failure code for each state of a ledger entry without an outcome. */
const CODES = {
  pending: 'operation_in_progress',
  reserved: 'operation_in_progress',
  unknown: 'outcome_unknown',
  forgotten: 'outcome_unknown',
  conflict: 'idempotency_conflict',
  full: 'approval_limit',
  rejected: 'approval_rejected',
  lapsed: 'approval_lapsed',
} as const;

/** The path of the page on which a person decides about a pending write. */
const pageOf = (operationId: string): string => `/console/approvals/${operationId}`;

/** Thrown in place of a result: a person must approve the write first. `receipt` is the body of the answer. */
export class AwaitsApproval extends Error {
  override readonly name = 'AwaitsApproval';
  readonly page: string;
  readonly receipt: { readonly data: Receipt & { readonly website_id: string; readonly coverage: string } };

  constructor({ operation_id, website_id, operation }: Omit<Receipt, 'status'> & { readonly website_id: string }) {
    super('a person must approve the write first');
    this.page = pageOf(operation_id);
    const coverage = 'gateway_command_receipt';
    this.receipt = { data: { operation_id, website_id, operation, status: 'pending', coverage } };
  }
}

/**
 * Returns the result of a ledger entry, or throws its Failure. `report` runs before the throw, so that a failed call
 * also reports its operation. Refused commands and commands without a key are not in the ledger, so `report` does not
 * run.
 */
export function resultOf(
  entry: Exclude<Entry, { readonly state: 'asked' | 'waiting' }>,
  operationId: string | undefined,
  report: (operation: OperationState) => void,
): Readonly<Record<string, unknown>> {
  const refused = 'outcome' in entry && 'refused' in entry.outcome;
  if (operationId !== undefined && !refused && entry.state !== 'full')
    report({ id: operationId, replayed: entry.state === 'settled' });
  if ('outcome' in entry) return doneOf(entry.outcome);
  const code = CODES[entry.state];
  throw new Failure(code, code === 'operation_in_progress' ? { retryAfter: 1 } : {});
}

function doneOf(outcome: Ending): Readonly<Record<string, unknown>> {
  if ('done' in outcome) return outcome.done;
  throw new Failure('rejected' in outcome ? outcome.rejected : outcome.refused);
}
