import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { EndedCall } from '../../core/calls.ts';
import { auditLog, auditOf } from '../../gateway/audit.ts';
import type { RequestRecord } from '../rest/rest.ts';

type Entry = Readonly<Record<string, unknown>> & { readonly status: number };

/**
 * One line for each request, socket and end of a socket. Over MCP a call that failed is an answer of status 200. Whoever was
 * refused before it was known who they are has nothing but the address that they came `from`, and every sign-in tells it,
 * too: what failed from there stands beside what then succeeded.
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

/** What metrics and traces are told; milliseconds. */
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
