import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { CallActor } from '../../core/audit.ts';
import type { Authority } from '../../core/authority.ts';
import type { EndedCall, Surface } from '../../core/calls.ts';
import type { Failure } from '../../core/failures.ts';
import { type AuditKind, auditLog, auditOf, doesOf } from '../../gateway/audit.ts';
import type { OperationState } from '../../gateway/outcomes.ts';

/** Never contains a query or a value from the client. */
export interface RequestRecord {
  surface?: Surface;
  operation?: string;
  /** The path of a document or a probe, chosen by the gateway. Absent for every other request. */
  path?: string;
  code?: string;
  /** The app for which the bytes of the reply count as unread. Not logged. */
  app?: string;
  /** True if the request may have changed something. It then always gets its answer. Not logged. */
  effect?: boolean;
  credential?: string;
  /** Who calls. Not logged. */
  actor?: CallActor | undefined;
  consent?: string;
  cause?: unknown;
  /** The kind of the audit entry if the request succeeds (check LG-02). */
  does?: AuditKind | undefined;
  audit?: Readonly<Record<string, string | boolean>>;
}

export interface RequestContext {
  readonly requestId: string;
  readonly record: RequestRecord;
}

/** False if the path belongs to another handler. A promise settles when the work ends, maybe after the answer. */
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

export function noteActor(record: RequestRecord, authority: Authority): void {
  const { appId, credentialId, consentId } = authority;
  record.actor = authority;
  record.app = appId;
  record.credential = credentialId;
  if (consentId !== null) record.consent = consentId;
}

export function noteRefusal(record: RequestRecord, failure: Failure): void {
  const { code, details } = failure;
  record.code = code;
  record.cause = details.cause;
  // An expired or revoked token is refused, but the log still names its credential.
  const { actor } = details;
  if (actor?.credentialId !== undefined) record.credential ??= actor.credentialId;
  record.actor ??= actor;
  record.does = doesOf(failure, record.does);
}

type LogEntry = Readonly<Record<string, unknown>> & { readonly status: number };

/**
 * Writes one log line for each request, opened socket and closed socket. The log level depends on the failure code and
 * not only on the status, because a failed MCP call has status 200.
 *
 * `from` returns the caller's address. It is logged only for an audited authentication, and for an audited refusal
 * without a known credential.
 */
export const teller = (log: Logger) => {
  const audits = auditLog(log);
  return (
    entry: LogEntry,
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

/** Milliseconds since `began` (performance.now()), with one decimal. */
export const since = (began: number): number => Math.round((performance.now() - began) * 10) / 10;

// randomUUID draws its random bits for 128 ids at once. One draw for each request took 5 % of the time of a read.
export const newRequestId = (): string => `req_${randomUUID().replaceAll('-', '')}`;
