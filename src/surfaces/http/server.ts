import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Books } from '../../core/audit.ts';
import type { HeldResources, Observer } from '../../core/calls.ts';
import { Failure } from '../../core/failures.ts';
import { BUDGETS, Budget } from './budget.ts';
import { openClientAddress, openTrust } from './client-address.ts';
import { Connection } from './connection.ts';
import { CONNECTIONS, ConnectionLimit } from './connection-limit.ts';
import { exchangeOf, type Serving } from './exchange.ts';
import { endedCall, newRequestId, type RequestContext, type RequestHandler, teller } from './records.ts';
import { HSTS, replyRaw, SECURITY_HEADERS, sendProblem } from './reply.ts';
import { headerOf, toOriginForm } from './request.ts';
import { type StoppedListening, stopListening } from './stop-listening.ts';
import { Request, type UpgradeHandler, upgrades } from './upgrade.ts';

/** The surfaces of one base URL. The first handler that knows a request answers it. */
export interface ServedSite {
  readonly handlers: readonly RequestHandler[];
  readonly otherwise: (request: IncomingMessage, response: ServerResponse) => void;
}

export interface ServerOptions extends ServedSite {
  readonly host: string;
  readonly port: number;
  readonly baseUrl: string;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly log: Logger;
  /** What answers requests for another host than that of `baseUrl`. Undefined: what answers all others. */
  readonly siteOf?: (host: string) => ServedSite | undefined;
  /** Upgrades to the realtime socket. On all other paths, the server ignores `Upgrade`. */
  readonly upgrade?: UpgradeHandler;
  readonly observer?: Observer;
  /** Makes audit records. Without it, calls leave none. */
  readonly books?: Books | undefined;
  /** Proxies whose X-Forwarded-For and traceparent are trusted. The default is none. */
  readonly trustedProxies?: readonly string[];
  readonly timeouts?: Timeouts;
  readonly connections?: typeof CONNECTIONS;
  readonly budgets?: typeof BUDGETS;
}

export type Timeouts = Readonly<Partial<typeof TIMEOUTS>>;

/** Timeouts for slow and idle clients, in milliseconds (check HT-05). */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 30_000,
  /**
   * Idle time on the connections of trusted proxies. A proxy can send a request at the moment when the gateway closes,
   * and its client gets 502. So the proxy must close first: by default nginx after 60 s, Google's after 600 s, and
   * Envoy after an hour.
   */
  proxyKeepAliveTimeout: 3_660_000,
  connectionsCheckingInterval: 2_000,
  /** Time without traffic. Every operation that reads data ends earlier. */
  timeout: 20_000,
  /** Time for a whole reply, even if the client reads steadily. */
  reply: 30_000,
};
const TLS_HANDSHAKE = 10_000;
/** Idle milliseconds after which TCP asks whether a trusted proxy is still there. */
const PROXY_PROBE = 60_000;
/** Milliseconds after which an unread reply may be cut to make room for another one. */
const UNREAD = 1_000;
/** Header fields that a request may have. Browsers behind two proxies send about 40. */
const FIELDS = 100;
/**
 * During a shutdown, milliseconds in which a client on an open connection can send one more request. Its reply says
 * `Connection: close`. Closing idle connections at once would lose a request that is already on its way.
 */
const LEAVE_TIMEOUT = 1_000;
/**
 * Milliseconds from the begin of a shutdown until running requests are cut. The process must end within 10 s of SIGTERM
 * (check F-18), and audit records, the store and the embedded PostgreSQL need the rest.
 */
const CLOSE_TIMEOUT = 8_000;

export interface RunningServer {
  readonly port: number;
  held(): HeldResources;
  /**
   * Stops listening. From then on, each reply closes its connection. Resolves when no connection is open, or 1 s after
   * new clients are refused.
   */
  leave(): Promise<void>;
  /** Stops listening, waits for running requests until 8 s after the begin of the shutdown, then ends all connections. */
  close(): Promise<void>;
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { log, tls, observer, baseUrl, trustedProxies = [], connections: limits = CONNECTIONS } = options;
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  // The gateway itself refuses a request without Host: Node's own reply has neither a request id nor a body.
  const settings = { ...timeouts, requireHostHeader: false, IncomingMessage: Request };
  const server: Server = tls
    ? createTlsServer({ ...settings, ...tls, handshakeTimeout: TLS_HANDSHAKE })
    : createServer(settings);
  server.timeout = timeouts.timeout;
  server.maxConnections = limits.inAll;
  // With any value but 0, Node silently drops the fields above the limit. So the gateway refuses such a request itself.
  server.maxHeadersCount = 0;

  const open = new Map<Duplex, Connection>();
  /** Cuts the oldest unread reply of the caller `share`, who has the most unread bytes. Other callers keep theirs. */
  const makeRoom = (share: string): boolean => {
    const since = ({ current }: Connection): number =>
      current?.held?.share === share ? current.held.since : Number.POSITIVE_INFINITY;
    let oldest: Connection | undefined;
    for (const one of open.values())
      if (since(one) < (oldest ? since(oldest) : performance.now() - UNREAD)) oldest = one;
    oldest?.cut('reply not taken, and its room needed');
    return oldest !== undefined;
  };
  const { budgets = BUDGETS } = options;
  const unread = new Budget({ limits: budgets.unread, code: 'answers_unread', makeRoom });
  const bodies = new Budget({ limits: budgets.bodies, code: 'service_unavailable' });
  let closing = false;
  let [refused, untrusted] = [0, 0];

  const sourceOf = openClientAddress(trustedProxies);
  const trusts = openTrust(trustedProxies);
  const serving: Serving = {
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
    trace: (request) => observer?.trace?.(trusts(request) ? headerOf(request.headers, 'traceparent') : undefined),
    answer: (request, response, context) => {
      // Node's parser drops bytes that arrive with an `Upgrade` request, so the connection cannot be used again.
      if (closing || request.headers.upgrade !== undefined) response.setHeader('Connection', 'close');
      if (request.headers['x-forwarded-for'] !== undefined && !trusts(request)) untrusted++;
      const refusal = refusalOf(request) ?? toOriginForm(request);
      if (refusal) {
        response.setHeader('Connection', 'close');
        refuse(request, response, context, refusal);
        return true;
      }
      const { handlers, otherwise } = options.siteOf?.(request.headers.host ?? '') ?? options;
      for (const handler of handlers) {
        const work = handler(request, response, context);
        if (work !== false) return work;
      }
      // Express can write a head of its own.
      for (const [name, value] of Object.entries(exchangeOf(request)?.headers ?? {}))
        response.setHeader(name, value ?? '');
      otherwise(request, response);
      return true;
    },
  };
  const refuse = (
    request: IncomingMessage,
    response: ServerResponse,
    { requestId, record }: RequestContext,
    failure: Failure,
  ): void => {
    record.code = failure.code;
    sendProblem(request, response, failure, { baseUrl, requestId });
  };

  const isProxied = (socket: Socket): boolean => trustedProxies.length > 0 && trusts({ socket });
  const own = (socket: Socket): void => {
    const proxied = isProxied(socket);
    // Probes notice a proxy that has gone without a word.
    if (proxied) socket.setKeepAlive(true, PROXY_PROBE);
    open.set(socket, new Connection(socket, serving, proxied ? timeouts.proxyKeepAliveTimeout : undefined));
    socket.once('close', () => open.delete(socket));
  };
  if (tls) server.on('secureConnection', own);
  const networks = new ConnectionLimit(limits.perNetwork);
  server.on('connection', (socket: Socket) => {
    const proxied = isProxied(socket);
    const leave = proxied ? () => undefined : networks.enter(socket.remoteAddress ?? '');
    if (!leave) {
      refused++;
      socket.destroy();
      return;
    }
    socket.once('close', leave);
    if (!tls) own(socket);
  });
  server.on('drop', () => void refused++);
  const serve = (request: IncomingMessage, response: ServerResponse): void =>
    open.get(request.socket)?.add(request, response);
  server.on('request', serve);
  // Node would answer the header Expect with `100 Continue` before any check, or with an empty 417.
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const connection = open.get(socket);
    const current = connection?.current;
    // If the current request is complete or its reply has started, the client would take a 400 for that reply.
    const answering =
      connection?.answered || (current !== undefined && (current.response.headersSent || current.request.complete));
    if (error.code === 'ECONNRESET' || !socket.writable || answering) {
      socket.destroy();
      return;
    }
    const reason = error.code ?? '';
    const status = STATUS_OF_BAD_HTTP[reason] ?? 400;
    const code = 'invalid_request';
    // Unreadable bytes of a request are logged when the request ends. Others are logged here.
    if (current) current.cut = { status, code, reason };
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
      if (open.get(socket)?.current) socket.destroy();
      else take(request, socket, head, refusalOf(request));
    });
  }
  const checking = setInterval(() => {
    const now = performance.now();
    for (const connection of open.values()) connection.check(now - timeouts.reply, now);
  }, timeouts.connectionsCheckingInterval).unref();

  await once(server.listen(options.port, options.host), 'listening');
  const address = server.address();
  let stopped: StoppedListening | undefined;
  let stoppedAt = 0;
  const stop = (): StoppedListening => {
    closing = true;
    // Otherwise the connection would stay open after the running reply, until the idle timeout.
    for (const { current } of open.values())
      if (current && !current.response.headersSent) current.response.setHeader('Connection', 'close');
    if (stopped) return stopped;
    stoppedAt = performance.now();
    stopped = stopListening(server);
    return stopped;
  };
  const count = (of: (one: Connection) => number): number => [...open.values()].reduce((sum, one) => sum + of(one), 0);
  return {
    port: typeof address === 'object' && address ? address.port : options.port,
    held: () => ({
      connections: open.size,
      requests: count(({ current }) => (current ? 1 : 0)),
      waiting: count(({ waiting }) => waiting),
      unread: unread.bytes,
      refused,
      untrusted,
    }),
    leave: async () => {
      const { refusing, ended } = stop();
      await refusing;
      await Promise.race([ended, pause(LEAVE_TIMEOUT, undefined, { ref: false })]);
    },
    close: async () => {
      const { ended } = stop();
      // After a standstill, Node runs its timers first. Without this turn, requests that have arrived would be cut off.
      await nextTurn();
      server.closeIdleConnections();
      const cut = setTimeout(() => server.closeAllConnections(), stoppedAt + CLOSE_TIMEOUT - performance.now()).unref();
      await ended;
      clearTimeout(cut);
      clearInterval(checking);
      server.close(() => undefined); // stops Node's timer that looks for slow connections
    },
  };
}

function refusalOf({ httpVersion, method, rawHeaders }: IncomingMessage): Failure | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return new Failure('invalid_request', { detail: 'Send the request as HTTP/1.1.' });
  if (rawHeaders.length > 2 * FIELDS)
    return new Failure('invalid_request', { detail: `Send at most ${FIELDS} header fields.` });
  return method === 'CONNECT' ? new Failure('method_not_allowed', { allow: ['GET', 'HEAD'] }) : undefined;
}

const STATUS_OF_BAD_HTTP: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};
