import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Authority } from '../../core/authority.ts';
import type { EndedCall, Surface } from '../../core/calls.ts';
import type { Failure } from '../../core/failures.ts';
import { type AuditKind, auditLog, auditOf, doesOf } from '../../gateway/audit.ts';
import type { OperationState } from '../../gateway/writes.ts';

/** What the log says of a request: never a path, a query or a value. */
export interface RequestRecord {
  /** `public` where it is absent. */
  surface?: Surface;
  operation?: string;
  code?: string;
  /** The app whose share of unread replies the answer counts against. Not logged. */
  app?: string;
  /** The request has changed something, so that its answer is never withheld. Not logged. */
  effect?: boolean;
  credential?: string;
  /** The consent by which a person let the caller act. */
  consent?: string;
  cause?: unknown;
  /** What the audit calls the request if nothing stops it (checks, LG-02). */
  does?: AuditKind | undefined;
  /** Further ids of who did something to what. */
  audit?: Readonly<Record<string, string | boolean>>;
}

export interface RequestContext {
  readonly requestId: string;
  readonly record: RequestRecord;
}

/** Answers a request. False: the path belongs to another handler. A promise ends with the work, which may outlast the answer. */
export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
) => boolean | Promise<void>;

/** Notes who called and the operation id of a write, as every surface does. */
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
  // The credential of a token that is no longer accepted.
  if (details.credential !== undefined) record.credential ??= details.credential;
  record.does = doesOf(failure, record.does);
}

type Entry = Readonly<Record<string, unknown>> & { readonly status: number };

/**
 * Writes one line for each request, socket and end of a socket. A failed MCP call is an answer of status 200. `from` is the
 * caller's address: it is logged for every sign-in, and for a refusal of a caller whose credential is not known.
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

/** What metrics and traces are told; `ms` is milliseconds. */
export function endedCall(
  { request_id, status, ms }: { readonly request_id: string; readonly status: number; readonly ms: number },
  { surface = 'public', operation = 'none', code }: RequestRecord,
  unfinished: boolean,
): EndedCall {
  const outcome = code ?? (unfinished ? 'unfinished' : status < 400 ? 'ok' : `http_${status}`);
  return { surface, operation, outcome, status, seconds: ms / 1_000, requestId: request_id };
}

/** Milliseconds since then, with one decimal. */
export const since = (began: number): number => Math.round((performance.now() - began) * 10) / 10;

export const newRequestId = (): string => `req_${randomBytes(16).toString('hex')}`;
