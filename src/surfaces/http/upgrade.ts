import { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Failure } from '../../core/failures.ts';
import type { Serving } from './exchange.ts';
import { replyRaw } from './raw-reply.ts';
import { endedCall, newRequestId, noteRefusal, type RequestRecord, since } from './records.ts';
import { problem, UPGRADE_REQUIRED } from './reply.ts';

/** The one address that answers an upgrade: the session's id, and the query where there is one. */
export const SOCKET = /^\/api\/v1\/realtime\/sessions\/([^/?]+)\/socket(\?.*)?$/;

/**
 * A request whose offer to upgrade counts at the address of the socket only. Everywhere else Node then serves it like any
 * other request: RFC 9110, section 7.8 lets a server ignore the offer. Node reads `upgrade` after the head, and takes the
 * connection away from HTTP if it is true. Node 20 has no `shouldUpgradeCallback`, which was made for this.
 */
export class Request extends IncomingMessage {
  // Not a class field: the constructor of IncomingMessage assigns `upgrade` before fields exist.
  declare taken?: boolean;

  get upgrade(): boolean {
    return this.taken === true;
  }

  set upgrade(offered: unknown) {
    this.taken = offered === true && SOCKET.test(this.url ?? '');
  }
}

/** Takes a connection over, or refuses the upgrade over HTTP. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer, context: UpgradeContext) => void;

interface UpgradeContext {
  readonly record: RequestRecord;
  /** Address that the request came from. */
  readonly from: string;
  readonly refuse: (failure: Failure) => void;
  /** The handshake is done; what it returns is called at the end of the socket. Both go into the log. */
  readonly accepted: () => (end: { readonly code: number; readonly cause: string }) => void;
}

/** Gives each upgrade its entry in the books, whether it is accepted or refused. */
export function upgrades(
  handler: UpgradeHandler,
  { tell, observer, headers, from: fromOf, trace: traceOf }: Serving,
  baseUrl: string,
  closing: () => boolean,
): (request: IncomingMessage, socket: Duplex, head: Buffer, refusal: Failure | undefined) => void {
  return (request, socket, head, refusal) => {
    const requestId = newRequestId();
    const record: RequestRecord = { surface: 'realtime', operation: 'realtime_socket' };
    const began = performance.now();
    const from = fromOf(request);
    const trace = traceOf(request);
    const entry = (status: number) => ({
      request_id: requestId,
      method: request.method,
      operation: record.operation,
      status,
      ms: since(began),
    });
    let booked = false;
    const book = (status: number): void => {
      if (booked) return;
      booked = true;
      tell(entry(status), record, from);
      const call = endedCall(entry(status), record, false);
      observer?.ended(call);
      trace?.end(call);
    };
    socket.on('error', () => socket.destroy());
    const refuse = (failure: Failure): void => {
      noteRefusal(record, failure);
      book(failure.status);
      const { retryAfter, allow } = failure.details;
      replyRaw(socket, problem(failure, { baseUrl, requestId }), {
        ...headers,
        ...(failure.status === 426 && { ...UPGRADE_REQUIRED, Connection: 'upgrade, close' }),
        ...(allow && { Allow: allow.join(', ') }),
        ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
      });
    };
    const accepted = () => {
      book(101);
      return (end: { readonly code: number; readonly cause: string }): void =>
        tell(
          { ...entry(101), closed: end.code, reason: end.cause },
          // A stream that ended with its authority has the code and decision of a refusal.
          end.cause === 'authority' ? { ...record, code: 'not_permitted' } : record,
          from,
          'socket closed',
        );
    };
    const run = (): void => {
      if (refusal) refuse(refusal);
      else if (closing()) refuse(new Failure('service_unavailable', { retryAfter: 1 }));
      else if (request.method !== 'GET') refuse(new Failure('method_not_allowed', { allow: ['GET', 'HEAD'] }));
      else if (request.headers.upgrade?.toLowerCase() !== 'websocket') refuse(new Failure('upgrade_required'));
      else handler(request, socket, head, { refuse, accepted, record, from: from() });
    };
    if (trace) trace.run(run);
    else run();
  };
}
