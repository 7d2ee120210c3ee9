import { randomBytes } from 'node:crypto';
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
import type { Logger } from 'pino';
import { type Failure, titleOf } from '../../core/failures.ts';
import type { RequestRecord, RestHandler } from '../rest/rest.ts';
import { HSTS, SECURITY_HEADERS } from './reply.ts';

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
  /** Shorter ones for tests. */
  readonly timeouts?: Timeouts;
}

/** Takes a connection over, or refuses the upgrade over HTTP; false: it is not its own. */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  context: { readonly refuse: (failure: Failure) => void; readonly record: RequestRecord },
) => boolean;

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
/** With what follows it, the process ends within 10 s of SIGTERM (checks, F-18). */
const SHUTDOWN = 8_000;

export interface RunningServer {
  readonly port: number;
  /** Stops listening, lets requests under way finish for up to 8 s, then ends. */
  close(): Promise<void>;
}

const requestIds = new WeakMap<IncomingMessage, string>();

/** The id under which this request is logged and answered. */
export const requestIdOf = (request: IncomingMessage): string => requestIds.get(request) ?? '';

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { log, tls } = options;
  // A missing Host is ours to refuse: Node's own reply has neither request id nor body.
  const settings = { ...(options.timeouts ?? TIMEOUTS), requireHostHeader: false };
  const server: Server = tls ? createTlsServer({ ...settings, ...tls }) : createServer(settings);
  server.timeout = settings.timeout;
  const open = new Set<ServerResponse>();
  let closing = false;

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const requestId = newRequestId();
    const record: RequestRecord = {};
    const began = performance.now();
    open.add(response);
    requestIds.set(request, requestId);
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value ?? '');
    if (tls) for (const [name, value] of Object.entries(HSTS)) response.setHeader(name, value ?? '');
    response.setHeader('X-Request-Id', requestId);
    if (closing) response.setHeader('Connection', 'close');
    response.on('close', () => {
      open.delete(response);
      const entry = {
        request_id: requestId,
        method: request.method,
        operation: record.operation ?? 'none',
        status: response.statusCode,
        ms: Math.round((performance.now() - began) * 10) / 10,
        ...(record.credential !== undefined && { credential: record.credential }),
        ...(record.code !== undefined && { code: record.code }),
        ...record.audit,
        ...(response.writableFinished ? {} : { unfinished: true }),
      };
      // Over MCP a call that failed is an answer of status 200.
      if (response.statusCode === 500 || record.code === 'internal')
        log.error({ ...entry, err: record.cause }, 'request');
      else if (response.statusCode === 503 || record.cause !== undefined)
        log.warn({ ...entry, err: record.cause }, 'request');
      else log.info(entry, 'request');
    });
    for (const handler of options.handlers) if (handler(request, response, { requestId, record })) return;
    options.otherwise(request, response);
  };
  server.on('request', serve);
  // Without these Node answers by itself: a `100 Continue` that invites a body nobody wants, or a bare 417.
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);
  /** A reply to what was not understood as HTTP, or not wanted: written by hand, since there is no response object. */
  const reply = (
    socket: Duplex,
    status: number,
    { code, title = STATUS_CODES[status] ?? '', requestId = newRequestId(), headers = {} }: Written,
  ): void => {
    const all = {
      ...SECURITY_HEADERS,
      ...(tls && HSTS),
      ...headers,
      'X-Request-Id': requestId,
      'Content-Type': 'application/problem+json',
      Connection: 'close',
    };
    const problem = { type: `/problems/${code}`, title, status, code, request_id: requestId };
    const body = JSON.stringify(problem);
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}${length}\r\n${body}`);
  };
  const refuse = (socket: Duplex, status: number, reason: string): void => {
    const requestId = newRequestId();
    const code = status === 405 ? 'method_not_allowed' : 'invalid_request';
    log.info({ request_id: requestId, operation: 'none', status, code, reason }, 'request');
    reply(socket, status, { code, requestId, headers: status === 405 ? { Allow: 'GET, HEAD' } : {} });
  };
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // A 400 in the midst of a reply, or in place of the reply to a whole request before it, would be misread.
    const answering = [...open].some(
      (response) => response.socket === socket && (response.headersSent || response.req.complete),
    );
    if (error.code === 'ECONNRESET' || !socket.writable || answering) socket.destroy();
    else refuse(socket, STATUS_OF_BAD_HTTP[error.code ?? ''] ?? 400, error.code ?? '');
  });
  const { upgrade } = options;
  if (upgrade)
    server.on('upgrade', (request, socket, head) => {
      const requestId = newRequestId();
      const record: RequestRecord = {};
      const tell = (status: number): void => {
        const entry = { request_id: requestId, operation: record.operation ?? 'none', status };
        log.info({ ...entry, ...(record.credential !== undefined && { credential: record.credential }) }, 'request');
      };
      const lost = (): void => void socket.destroy();
      socket.on('error', lost);
      const refuseUpgrade = (failure: Failure): void => {
        tell(failure.status);
        const { code, details, status } = failure;
        const headers = {
          ...(status === 426 && { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' }),
          ...(details.retryAfter !== undefined && { 'Retry-After': String(details.retryAfter) }),
        };
        reply(socket, status, { code, title: titleOf(code), requestId, headers });
        // Node's own time-outs are off by now: one who does not close its side must not keep the connection.
        socket.once('finish', () => socket.destroy());
      };
      if (!closing && upgrade(request, socket, head, { refuse: refuseUpgrade, record })) return;
      // An offer to upgrade may be ignored (RFC 9110, section 7.8). Node has given the connection away by now: it begins
      // again with what it was sent, but for the offer. The event 'connection' of a TLS server begins a handshake.
      socket.off('error', lost);
      socket.unshift(withoutOffer(request, head));
      server.emit(tls ? 'secureConnection' : 'connection', socket);
    });
  // Nothing here tunnels. Without a listener, Node ignores an offer to upgrade itself.
  server.on('connect', (_request, socket) => refuse(socket, 405, 'CONNECT'));

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : options.port,
    close: () => {
      closing = true;
      // Otherwise a connection would stay open after the reply under way on it, until it is cut off.
      for (const response of open) if (!response.headersSent) response.setHeader('Connection', 'close');
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), SHUTDOWN).unref();
      });
    },
  };
}

/** What a reply by hand says. */
interface Written {
  readonly code: string;
  readonly title?: string;
  readonly requestId?: string;
  readonly headers?: OutgoingHttpHeaders;
}

/** The request as it came, but for the header Upgrade, and what followed it. */
function withoutOffer({ method, url, httpVersion, rawHeaders }: IncomingMessage, head: Buffer): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${rawHeaders[i + 1]}`);
  }
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]);
}

const newRequestId = (): string => `req_${randomBytes(16).toString('hex')}`;

const STATUS_OF_BAD_HTTP: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};
