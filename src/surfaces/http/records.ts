import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Authority } from '../../core/authority.ts';
import type { EndedCall, Surface } from '../../core/calls.ts';
import type { Failure } from '../../core/failures.ts';
import { type AuditKind, auditLog, auditOf, doesOf } from '../../gateway/audit.ts';
import type { OperationState } from '../../gateway/outcomes.ts';

/** The log record of a request. It never contains a query or a value from the client. */
export interface RequestRecord {
  surface?: Surface;
  operation?: string;
  /** The path of a document or a probe, which the gateway itself has chosen. Absent for every other request. */
  path?: string;
  code?: string;
  /** Id of the app for which the bytes of the reply count as unread. Not logged. */
  app?: string;
  /** True if the request may have changed something. Such a request always gets its answer. Not logged. */
  effect?: boolean;
  credential?: string;
  consent?: string;
  cause?: unknown;
  /** The kind of audit entry that the request writes if it succeeds (check LG-02). */
  does?: AuditKind | undefined;
  audit?: Readonly<Record<string, string | boolean>>;
}

export interface RequestContext {
  readonly requestId: string;
  readonly record: RequestRecord;
}

/**
 * Answers a request. Returns false when the path belongs to another handler. A returned promise settles when the work
 * ends, which can be after the answer.
 */
export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
) => boolean | Promise<void>;

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
  // An expired or revoked token is refused, but the log still names the credential of the token.
  if (details.credential !== undefined) record.credential ??= details.credential;
  record.does = doesOf(failure, record.does);
}

type Entry = Readonly<Record<string, unknown>> & { readonly status: number };

/**
 * Returns a function that writes one log line for each request, each opened socket and each closed socket. The log
 * level depends on the failure code and not only on the status, because a failed MCP call has status 200.
 *
 * `from` returns the caller's address. The log has the address in two cases: for every audited authentication, and for
 * an audited refusal without a known credential.
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
    (audited ? audits : log)[level]({ ...entry, ...who, ...(level !== 'info' && { err: cause }) }, what);
  };
};

export function endedCall(
  { request_id, status, ms }: { readonly request_id: string; readonly status: number; readonly ms: number },
  { surface = 'public', operation = 'none', code }: RequestRecord,
  unfinished: boolean,
): EndedCall {
  const outcome = code ?? (unfinished ? 'unfinished' : status < 400 ? 'ok' : `http_${status}`);
  return { surface, operation, outcome, status, seconds: ms / 1_000, requestId: request_id };
}

/** Milliseconds since `began`, with one decimal. `began` is a time of performance.now(). */
export const since = (began: number): number => Math.round((performance.now() - began) * 10) / 10;

export const newRequestId = (): string => `req_${randomBytes(16).toString('hex')}`;
