import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Authority } from '../../core/authority.ts';
import type { EndedCall, Surface } from '../../core/calls.ts';
import type { Failure } from '../../core/failures.ts';
import { type AuditKind, auditLog, auditOf, doesOf } from '../../gateway/audit.ts';
import type { OperationState } from '../../gateway/outcomes.ts';

/** The log record of a request. It never holds a path, a query or a value. */
export interface RequestRecord {
  /** Absent means `public`. */
  surface?: Surface;
  operation?: string;
  code?: string;
  /** The app whose share of unread replies the answer counts against. Not logged. */
  app?: string;
  /** The request may have changed something, so its answer is never withheld. Not logged. */
  effect?: boolean;
  credential?: string;
  /** The id of the person's consent that the caller acts under. */
  consent?: string;
  cause?: unknown;
  /** The audit kind of the request if it succeeds (checks, LG-02). */
  does?: AuditKind | undefined;
  /** Further ids for the audit entry, such as the person or the operation. */
  audit?: Readonly<Record<string, string | boolean>>;
}

export interface RequestContext {
  readonly requestId: string;
  readonly record: RequestRecord;
}

/**
 * Answers a request. Returns false if the path belongs to another handler. The promise settles when the work ends,
 * maybe after the answer.
 */
export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
) => boolean | Promise<void>;

/** Records the caller and the operation id of a write. Every surface calls this. */
export function noteCall(
  record: RequestRecord,
  {
    authority,
    operation,
  }: { readonly authority?: Authority | undefined; readonly operation?: OperationState | undefined },
): void {
  if (authority) noteActor(record, authority);
  if (operation) record.audit = { operation_id: operation.id, ...(operation.replayed && { replayed: true }) };
}

export function noteActor(record: RequestRecord, { appId, credentialId, consentId }: Authority): void {
  record.app = appId;
  record.credential = credentialId;
  if (consentId !== null) record.consent = consentId;
}

export function noteRefusal(record: RequestRecord, failure: Failure): void {
  const { code, details } = failure;
  record.code = code;
  record.cause = details.cause;
  // A token that is no longer accepted still names its credential.
  if (details.credential !== undefined) record.credential ??= details.credential;
  record.does = doesOf(failure, record.does);
}

type Entry = Readonly<Record<string, unknown>> & { readonly status: number };

/**
 * Writes one log line for each request, each opened socket and each closed socket. A failed MCP call has status 200.
 * `from` gives the caller's address. It is logged for every sign-in, and for a refusal without a known credential.
 */
export const teller = (log: Logger) => {
  const audits = auditLog(log);
  return (
    entry: Entry,
    { code, credential, consent, does, audit, cause }: RequestRecord,
    from: () => string,
    what = 'request',
  ): void => {
    const failed = entry.status === 500 || code === 'internal';
    const level = failed ? 'error' : entry.status === 503 || cause !== undefined ? 'warn' : 'info';
    const audited = auditOf({ code, does });
    const unknown = audited && audited.decision !== 'allowed' && credential === undefined;
    const who = {
      ...(credential !== undefined && { credential }),
      ...(consent !== undefined && { consent }),
      ...(code !== undefined && { code }),
      ...((audited?.audit === 'authentication' || unknown) && { source: from() }),
      ...audit,
      ...audited,
    };
    (audited ? audits : log)[level](Object.assign({}, entry, who, level !== 'info' && { err: cause }), what);
  };
};

/** The entry for metrics and traces. */
export function endedCall(
  { request_id, status, ms }: { readonly request_id: string; readonly status: number; readonly ms: number },
  { surface = 'public', operation = 'none', code }: RequestRecord,
  unfinished: boolean,
): EndedCall {
  const outcome = code ?? (unfinished ? 'unfinished' : status < 400 ? 'ok' : `http_${status}`);
  return { surface, operation, outcome, status, seconds: ms / 1_000, requestId: request_id };
}

/** Milliseconds since `began` (performance.now()), with one decimal. */
export const since = (began: number): number => Math.round((performance.now() - began) * 10) / 10;

export const newRequestId = (): string => `req_${randomBytes(16).toString('hex')}`;
