import { IncomingMessage } from 'node:http';
import { Failure } from '../../core/failures.js';
import { productOf } from './audited.js';
import { endedCall, newRequestId, noteRefusal, since } from './records.js';
import { headersOf, problem, replyRaw } from './reply.js';
export const SOCKET = /^\/api\/v1\/realtime\/sessions\/([^/?]+)\/socket(\?.*)?$/;
/**
 * A request that accepts `Upgrade` only on the path of the realtime socket. On other paths, Node serves it normally,
 * because a server may ignore `Upgrade` (RFC 9110, section 7.8).
 *
 * Node reads the property `upgrade` after the header fields. If it is true, Node's HTTP server hands over the
 * connection. Node 20 lacks the option `shouldUpgradeCallback`, which would do the same.
 */
export class Request extends IncomingMessage {
    get upgrade() {
        return this.taken === true;
    }
    set upgrade(offered) {
        this.taken = offered === true && SOCKET.test(this.url ?? '');
    }
}
export function upgrades(handler, { tell, observer, books, headers, from: fromOf, trace: traceOf }, baseUrl, closing) {
    return (request, socket, head, refusal) => {
        const requestId = newRequestId();
        const record = { surface: 'realtime', operation: 'realtime_socket' };
        const began = performance.now();
        const from = fromOf(request);
        const trace = traceOf(request);
        const entry = (status) => ({
            request_id: requestId,
            method: request.method,
            operation: record.operation,
            status,
            ms: since(began),
        });
        let booked = false;
        const book = (status) => {
            if (booked)
                return;
            booked = true;
            tell(entry(status), record, from);
            const call = endedCall(entry(status), record, false);
            observer?.ended(call);
            if (record.actor && books) {
                const client = productOf(request.headers['user-agent']);
                const origin = { requestId, surface: 'rest', from: from(), client, traceId: trace?.id }; // a literal type
                const { actor, operation = 'realtime_socket' } = record;
                books.add(origin, { actor, operation, targets: [], outcome: record.code ?? 'ok', status, units: 0 }, call.seconds * 1_000);
            }
            trace?.end(call);
        };
        socket.on('error', () => socket.destroy());
        const refuse = (failure) => {
            noteRefusal(record, failure);
            book(failure.status);
            replyRaw(socket, problem(failure, { baseUrl, requestId }), {
                ...headers,
                ...headersOf(failure),
                ...(failure.status === 426 && { Connection: 'upgrade, close' }),
            });
        };
        const accepted = () => {
            book(101);
            return (end) => tell({ ...entry(101), closed: end.code, reason: end.cause }, 
            // A stream that ends because its caller lost the authority is logged as a refusal.
            end.cause === 'authority' ? { ...record, code: 'not_permitted' } : record, from, 'socket closed');
        };
        const run = () => {
            if (refusal)
                refuse(refusal);
            else if (closing())
                refuse(new Failure('service_unavailable', { retryAfter: 1 }));
            else if (request.method !== 'GET')
                refuse(new Failure('method_not_allowed', { allow: ['GET', 'HEAD'] }));
            else if (request.headers.upgrade?.toLowerCase() !== 'websocket')
                refuse(new Failure('upgrade_required'));
            else
                handler(request, socket, head, { refuse, accepted, record, from: from() });
        };
        if (trace)
            trace.run(run);
        else
            run();
    };
}
//# sourceMappingURL=upgrade.js.map