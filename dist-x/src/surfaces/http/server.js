import { createServer, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '../../core/failures.js';
import { BUDGETS, Budget } from './budget.js';
import { openClientAddress, openTrust } from './client-address.js';
import { Connection } from './connection.js';
import { CONNECTIONS, ConnectionLimit } from './connection-limit.js';
import { exchangeOf } from './exchange.js';
import { endedCall, newRequestId, teller } from './records.js';
import { HSTS, replyRaw, SECURITY_HEADERS, sendProblem } from './reply.js';
import { stopListening } from './stop-listening.js';
import { Request, upgrades } from './upgrade.js';
/** Timeouts for slow and idle clients, in milliseconds (check HT-05). */
const TIMEOUTS = {
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 30_000,
    connectionsCheckingInterval: 2_000,
    /** Time without traffic. Every operation that reads data ends earlier. */
    timeout: 20_000,
    /** Time for a whole reply, even if the client reads steadily. */
    reply: 30_000,
};
const TLS_HANDSHAKE = 10_000;
/** Milliseconds after which an unread reply may be cut to make room for another one. */
const UNREAD = 1_000;
/** Header fields that a request may have. Browsers behind two proxies send about 40. */
const FIELDS = 100;
/**
 * During a shutdown, milliseconds in which a client on an open connection can send one more request. Its reply says
 * `Connection: close`. Closing idle connections at once would lose a request that is already on its way.
 */
const LEAVE_TIMEOUT = 1_000;
/** Milliseconds that running requests have at a shutdown. The process must end within 10 s of SIGTERM (check F-18). */
const CLOSE_TIMEOUT = 7_000;
export async function startServer(options) {
    const { log, tls, observer, baseUrl, trustedProxies = [], connections: limits = CONNECTIONS } = options;
    const timeouts = options.timeouts ?? TIMEOUTS;
    // The gateway itself refuses a request without Host: Node's own reply has neither a request id nor a body.
    const settings = { ...timeouts, requireHostHeader: false, IncomingMessage: Request };
    const server = tls
        ? createTlsServer({ ...settings, ...tls, handshakeTimeout: TLS_HANDSHAKE })
        : createServer(settings);
    server.timeout = timeouts.timeout;
    server.maxConnections = limits.inAll;
    // With any value but 0, Node silently drops the fields above the limit. So the gateway refuses such a request itself.
    server.maxHeadersCount = 0;
    const open = new Map();
    /** Cuts the oldest unread reply of the caller `share`, who has the most unread bytes. Other callers keep theirs. */
    const makeRoom = (share) => {
        const since = ({ current }) => current?.held?.share === share ? current.held.since : Number.POSITIVE_INFINITY;
        let oldest;
        for (const one of open.values())
            if (since(one) < (oldest ? since(oldest) : performance.now() - UNREAD))
                oldest = one;
        oldest?.cut('reply not taken, and its room needed');
        return oldest !== undefined;
    };
    const { budgets = BUDGETS } = options;
    const unread = new Budget({ limits: budgets.unread, code: 'answers_unread', makeRoom });
    const bodies = new Budget({ limits: budgets.bodies, code: 'service_unavailable' });
    let closing = false;
    const sourceOf = openClientAddress(trustedProxies);
    const trusts = openTrust(trustedProxies);
    const serving = {
        tell: teller(log),
        observer,
        books: options.books,
        unread,
        bodies,
        headers: { ...SECURITY_HEADERS, ...(tls && HSTS) },
        from: (request) => {
            // Read the address now: Node remembers it, and cannot find it after the socket has closed.
            void request.socket.remoteAddress;
            return () => sourceOf(request);
        },
        // Trust the header only from a trusted proxy: it decides whether a call is sampled, and in which trace.
        trace: (request) => observer?.trace?.(trusts(request) ? headerOf(request, 'traceparent') : undefined),
        answer: (request, response, context) => {
            // Node's parser drops bytes that arrive with an `Upgrade` request, so the connection cannot be used again.
            if (closing || request.headers.upgrade !== undefined)
                response.setHeader('Connection', 'close');
            const refusal = refusalOf(request);
            if (refusal) {
                response.setHeader('Connection', 'close');
                refuse(request, response, context, refusal);
                return true;
            }
            for (const handler of options.handlers) {
                const work = handler(request, response, context);
                if (work !== false)
                    return work;
            }
            // Express can write a head of its own.
            for (const [name, value] of Object.entries(exchangeOf(request)?.headers ?? {}))
                response.setHeader(name, value ?? '');
            options.otherwise(request, response);
            return true;
        },
    };
    const refuse = (request, response, { requestId, record }, failure) => {
        record.code = failure.code;
        sendProblem(request, response, failure, { baseUrl, requestId, resource: '', tokenSent: false });
    };
    const own = (socket) => {
        open.set(socket, new Connection(socket, serving));
        socket.once('close', () => open.delete(socket));
    };
    if (tls)
        server.on('secureConnection', own);
    const networks = new ConnectionLimit(limits.perNetwork);
    server.on('connection', (socket) => {
        const proxied = trustedProxies.length > 0 && trusts({ socket });
        const leave = proxied ? () => undefined : networks.enter(socket.remoteAddress ?? '');
        if (!leave) {
            socket.destroy();
            return;
        }
        socket.once('close', leave);
        if (!tls)
            own(socket);
    });
    const serve = (request, response) => open.get(request.socket)?.add(request, response);
    server.on('request', serve);
    // Node would answer the header Expect with `100 Continue` before any check, or with an empty 417.
    server.on('checkContinue', serve);
    server.on('checkExpectation', serve);
    server.on('clientError', (error, socket) => {
        const connection = open.get(socket);
        const current = connection?.current;
        // If the current request is complete or its reply has started, the client would take a 400 for that reply.
        const answering = connection?.answered || (current !== undefined && (current.response.headersSent || current.request.complete));
        if (error.code === 'ECONNRESET' || !socket.writable || answering) {
            socket.destroy();
            return;
        }
        const reason = error.code ?? '';
        const status = STATUS_OF_BAD_HTTP[reason] ?? 400;
        const code = 'invalid_request';
        // Unreadable bytes of a request are logged when the request ends. Others are logged here.
        if (current)
            current.cut = { status, code, reason };
        const requestId = current?.requestId ?? newRequestId();
        if (!current) {
            log.info({ request_id: requestId, operation: 'none', status, code, reason }, 'request');
            observer?.ended(endedCall({ request_id: requestId, status, ms: 0 }, { code }, false));
        }
        const title = STATUS_CODES[status] ?? '';
        const body = { type: `${baseUrl}/problems/${code}`, title, status, code, request_id: requestId };
        replyRaw(socket, body, serving.headers);
    });
    if (options.upgrade) {
        const take = upgrades(options.upgrade, serving, baseUrl, () => closing);
        server.on('upgrade', (request, socket, head) => {
            // The reply to the upgrade would arrive before the reply to the running request.
            if (open.get(socket)?.current)
                socket.destroy();
            else
                take(request, socket, head, refusalOf(request));
        });
    }
    const checking = setInterval(() => {
        const now = performance.now();
        for (const connection of open.values())
            connection.check(now - timeouts.reply, now);
    }, timeouts.connectionsCheckingInterval).unref();
    await new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(options.port, options.host, () => {
            server.off('error', reject);
            resolve();
        });
    });
    const address = server.address();
    let stopped;
    const stop = () => {
        closing = true;
        // Otherwise the connection would stay open after the running reply, until the idle timeout.
        for (const { current } of open.values())
            if (current && !current.response.headersSent)
                current.response.setHeader('Connection', 'close');
        stopped ??= stopListening(server);
        return stopped;
    };
    const count = (of) => [...open.values()].reduce((sum, one) => sum + of(one), 0);
    return {
        port: typeof address === 'object' && address ? address.port : options.port,
        held: () => ({
            connections: open.size,
            requests: count(({ current }) => (current ? 1 : 0)),
            waiting: count(({ waiting }) => waiting),
            unread: unread.bytes,
        }),
        leave: () => Promise.race([stop(), pause(LEAVE_TIMEOUT, undefined, { ref: false })]),
        close: async () => {
            const all = stop();
            server.closeIdleConnections();
            const cut = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT).unref();
            await all;
            clearTimeout(cut);
            clearInterval(checking);
            server.close(() => undefined); // stops Node's timer that looks for slow connections
        },
    };
}
function refusalOf({ httpVersion, method, rawHeaders }) {
    if (httpVersion !== '1.1' && httpVersion !== '1.0')
        return new Failure('invalid_request', { detail: 'Send the request as HTTP/1.1.' });
    if (rawHeaders.length > 2 * FIELDS)
        return new Failure('invalid_request', { detail: `Send at most ${FIELDS} header fields.` });
    return method === 'CONNECT' ? new Failure('method_not_allowed', { allow: ['GET', 'HEAD'] }) : undefined;
}
function headerOf(request, name) {
    const value = request.headers[name];
    return typeof value === 'string' ? value : undefined;
}
const STATUS_OF_BAD_HTTP = {
    ERR_HTTP_REQUEST_TIMEOUT: 408,
    HPE_HEADER_OVERFLOW: 431,
};
//# sourceMappingURL=server.js.map