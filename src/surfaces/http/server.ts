import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Observer } from '../../core/calls.ts';
import type { Failure } from '../../core/failures.ts';
import { noteRefusal, type RequestRecord, type RestContext, type RestHandler } from '../rest/rest.ts';
import { withoutOffer } from './offer.ts';
import { stopListening } from './queue.ts';
import { endedCall, newRequestId, since, teller } from './records.ts';
import { HSTS, problem, SECURITY_HEADERS, UPGRADE_REQUIRED } from './reply.ts';
import { openSource, openTrust } from './source.ts';
import { UnderWay } from './under-way.ts';

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly log: Logger;
  /** Asked in turn; the first that knows the path answers. */
  readonly handlers: readonly RestHandler[];
  /** Answers whatever no handler knows. */
  readonly otherwise: (request: IncomingMessage, response: ServerResponse) => void;
  /** Is asked first where a request offers to upgrade; without it, or where it declines, the offer is ignored. */
  readonly upgrade?: UpgradeHandler;
  readonly observer?: Observer;
  /** Proxies whose X-Forwarded-For and traceparent are believed; none where absent. */
  readonly trustedProxies?: readonly string[];
  /** Shorter ones for tests. */
  readonly timeouts?: Timeouts;
}

/** Takes a connection over, or refuses the upgrade over HTTP; false: it is not its own. */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  context: UpgradeContext,
) => boolean;

interface UpgradeContext {
  readonly record: RequestRecord;
  /** Answers with the problem of that failure, whose addresses begin with `baseUrl`. */
  readonly refuse: (failure: Failure, baseUrl: string) => void;
  /** The handshake is done; what it returns is told of the end. Both go into the log. */
  readonly accepted: () => (end: { readonly code: number; readonly cause: string }) => void;
}

export type Timeouts = Readonly<Record<keyof typeof TIMEOUTS, number>>;

/** Slow and idle clients are cut off (checks, HT-05). Milliseconds. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
  /** A socket on which nothing moves: a client that does not read its reply, too. Longer than any read may take. */
  timeout: 20_000,
};
/**
 * How long clients on open connections have to ask once more and be told to go: closed at once, a connection between two
 * requests would lose the one that is on its way to it.
 */
const LULL = 1_000;
/** With what comes before and after it, the process ends within 10 s of SIGTERM (checks, F-18). */
const SHUTDOWN = 7_000;
/** A connection that Node has given away, and that one refused, keeps that long to take its reply. */
const LINGER = 2_000;

export interface RunningServer {
  readonly port: number;
  /** Stops listening; every answer from now on ends its connection. Resolves when none is open, after 1 s at most. */
  leave(): Promise<void>;
  /** Stops listening, lets requests under way finish for up to 7 s, then ends. */
  close(): Promise<void>;
}

const contexts = new WeakMap<IncomingMessage, RestContext>();

/** The id under which this request is logged and answered, and what the log says of it. */
export const contextOf = (request: IncomingMessage): RestContext =>
  contexts.get(request) ?? { requestId: '', record: {} };

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { log, tls, observer } = options;
  // A missing Host is ours to refuse: Node's own reply has neither request id nor body.
  const settings = { ...(options.timeouts ?? TIMEOUTS), requireHostHeader: false };
  const server: Server = tls ? createTlsServer({ ...settings, ...tls }) : createServer(settings);
  server.timeout = settings.timeout;
  const open = new UnderWay<ServerResponse>();
  /** Requests that were refused while their body was waited for. */
  const cutOff = new WeakMap<
    ServerResponse,
    { readonly status: number; readonly code: string; readonly reason: string }
  >();
  let closing = false;

  const tell = teller(log);
  const { trustedProxies = [] } = options;
  const sourceOf = openSource(trustedProxies);
  const trusts = openTrust(trustedProxies);
  /** A stranger's would decide whether a call is sampled, and in whose trace it stands. */
  const traceOf = (request: IncomingMessage) =>
    observer?.trace?.(trusts(request) ? headerOf(request, 'traceparent') : undefined);
  /** Asked for now, since a socket that has closed tells no address that it was not asked for before. */
  const cameFrom = (request: IncomingMessage): (() => string) => {
    void request.socket.remoteAddress;
    return () => sourceOf(request);
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const requestId = newRequestId();
    const record: RequestRecord = {};
    const began = performance.now();
    const from = cameFrom(request);
    const over = open.add(response);
    contexts.set(request, { requestId, record });
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value ?? '');
    if (tls) for (const [name, value] of Object.entries(HSTS)) response.setHeader(name, value ?? '');
    response.setHeader('X-Request-Id', requestId);
    if (closing) response.setHeader('Connection', 'close');
    const trace = traceOf(request);
    let work: boolean | Promise<void> = false;
    response.on('close', () => {
      over();
      const ms = since(began);
      const unfinished = !response.writableFinished;
      const told = (): void => {
        const cut = cutOff.get(response);
        if (cut) record.code = cut.code;
        const entry = {
          request_id: requestId,
          method: request.method,
          operation: record.operation ?? 'none',
          status: cut?.status ?? response.statusCode,
          ms,
          ...(cut && { reason: cut.reason }),
          ...(unfinished && { unfinished }),
        };
        tell(entry, record, from);
        const call = endedCall(entry, record, unfinished);
        observer?.ended(call);
        trace?.end(call);
      };
      // Whose caller has gone may be under way still: who it was and what was done is known at its end.
      if (unfinished && typeof work === 'object') void work.then(told);
      else told();
    });
    const answer = (): void => {
      for (const handler of options.handlers) {
        work = handler(request, response, { requestId, record });
        if (work !== false) return;
      }
      options.otherwise(request, response);
    };
    if (trace) trace.run(answer);
    else answer();
  };
  server.on('request', serve);
  // Without these Node answers by itself: a `100 Continue` that invites a body nobody wants, or a bare 417.
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);
  /** A reply to what was not understood as HTTP, or not wanted: written by hand, since there is no response object. */
  const reply = (
    socket: Duplex,
    { body, headers = {} }: { body: Readonly<Record<string, unknown>>; headers?: OutgoingHttpHeaders },
  ): void => {
    const text = JSON.stringify(body);
    const all = {
      ...SECURITY_HEADERS,
      ...(tls && HSTS),
      'X-Request-Id': String(body.request_id),
      'Content-Type': 'application/problem+json',
      'Content-Length': Buffer.byteLength(text),
      Connection: 'close',
      ...headers,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    const status = Number(body.status);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}`);
    // Node's own time-outs may be off by now: one who does not read or close its side must not keep the connection.
    socket.resume();
    const end = setTimeout(() => socket.destroy(), LINGER).unref();
    socket.once('close', () => clearTimeout(end));
  };
  /** `begun`: the request on that socket whose body never came whole, which tells of itself when it is closed. */
  const refuse = (socket: Duplex, status: number, reason: string, begun?: ServerResponse): void => {
    const requestId = begun ? contextOf(begun.req).requestId : newRequestId();
    const code = status === 405 ? 'method_not_allowed' : 'invalid_request';
    if (begun) cutOff.set(begun, { status, code, reason });
    else {
      log.info({ request_id: requestId, operation: 'none', status, code, reason }, 'request');
      observer?.ended(endedCall({ request_id: requestId, status, ms: 0 }, { code }, false));
    }
    const title = STATUS_CODES[status] ?? '';
    const body = { type: `/problems/${code}`, title, status, code, request_id: requestId };
    reply(socket, { body, headers: status === 405 ? { Allow: 'GET, HEAD' } : {} });
  };
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const here = open.all().filter((response) => response.socket === socket);
    // A 400 in the midst of a reply, or in place of the reply to a whole request before it, would be misread.
    const answering = here.some((response) => response.headersSent || response.req.complete);
    if (error.code === 'ECONNRESET' || !socket.writable || answering) socket.destroy();
    else refuse(socket, STATUS_OF_BAD_HTTP[error.code ?? ''] ?? 400, error.code ?? '', here[0]);
  });
  const { upgrade } = options;
  if (upgrade)
    server.on('upgrade', (request, socket, head) => {
      // One that came behind a request under way would be answered before it.
      if (open.all().some(({ req }) => req.socket === socket)) {
        socket.destroy();
        return;
      }
      const requestId = newRequestId();
      const record: RequestRecord = {};
      const began = performance.now();
      const from = cameFrom(request);
      const trace = traceOf(request);
      const entry = (status: number) => {
        const { operation = 'none' } = record;
        return { request_id: requestId, method: request.method, operation, status, ms: since(began) };
      };
      const over = (status: number): void => {
        const call = endedCall(entry(status), record, false);
        observer?.ended(call);
        trace?.end(call);
      };
      const lost = (): void => void socket.destroy();
      socket.on('error', lost);
      const refuseUpgrade = (failure: Failure, baseUrl: string): void => {
        noteRefusal(record, failure);
        tell(entry(failure.status), record, from);
        over(failure.status);
        const { retryAfter } = failure.details;
        const headers = {
          ...(failure.status === 426 && { ...UPGRADE_REQUIRED, Connection: 'upgrade, close' }),
          ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
        };
        reply(socket, { body: problem(failure, { baseUrl, requestId }), headers });
      };
      const accepted = () => {
        tell(entry(101), record, from);
        over(101);
        return (end: { readonly code: number; readonly cause: string }): void =>
          tell(
            { ...entry(101), closed: end.code, reason: end.cause },
            // The stream of one who may not have it any more: code and decision as where it is refused.
            end.cause === 'authority' ? { ...record, code: 'not_permitted' } : record,
            from,
            'socket closed',
          );
      };
      const taken = (): boolean => upgrade(request, socket, head, { refuse: refuseUpgrade, accepted, record });
      if (!closing && (trace ? trace.run(taken) : taken())) return;
      // An offer to upgrade may be ignored (RFC 9110, section 7.8). Node has given the connection away by now: it begins
      // again with what it was sent, but for the offer. The event 'connection' of a TLS server begins a handshake.
      socket.off('error', lost);
      socket.unshift(withoutOffer(request, head));
      server.emit(tls ? 'secureConnection' : 'connection', socket);
    });
  // Nothing here tunnels. Without a listener, Node ignores an offer to upgrade itself.
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, 405, 'CONNECT');
  });

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    closing = true;
    // Otherwise a connection would stay open after the reply under way on it, until it is cut off.
    for (const response of open.all()) if (!response.headersSent) response.setHeader('Connection', 'close');
    stopped ??= stopListening(server);
    return stopped;
  };
  return {
    port: typeof address === 'object' && address ? address.port : options.port,
    leave: () => Promise.race([stop(), pause(LULL, undefined, { ref: false })]),
    close: async () => {
      const all = stop();
      server.closeIdleConnections();
      const cut = setTimeout(() => server.closeAllConnections(), SHUTDOWN).unref();
      await all;
      clearTimeout(cut);
      server.close(() => undefined); // the timer that looks for slow connections
    },
  };
}

/** One that Node has not joined of several. */
function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

const STATUS_OF_BAD_HTTP: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};
