import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
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
}

/** Slow and idle clients are cut off (checks, HT-05). Milliseconds. */
const HEADERS_TIMEOUT = 10_000;
const REQUEST_TIMEOUT = 30_000;
const KEEP_ALIVE_TIMEOUT = 30_000;
const CONNECTIONS_CHECK = 2_000;
const SHUTDOWN = 10_000;

export interface RunningServer {
  readonly port: number;
  /** Stops listening, lets requests under way finish for up to 10 s, then ends. */
  close(): Promise<void>;
}

const requestIds = new WeakMap<IncomingMessage, string>();

/** The id under which this request is logged and answered. */
export const requestIdOf = (request: IncomingMessage): string => requestIds.get(request) ?? '';

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { log, tls } = options;
  const settings = {
    headersTimeout: HEADERS_TIMEOUT,
    requestTimeout: REQUEST_TIMEOUT,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
    connectionsCheckingInterval: CONNECTIONS_CHECK,
  };
  const server: Server = tls ? createTlsServer({ ...settings, ...tls }) : createServer(settings);
  let closing = false;

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const requestId = `req_${randomBytes(16).toString('hex')}`;
    const record: RequestRecord = {};
    const began = performance.now();
    requestIds.set(request, requestId);
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value ?? '');
    if (tls) for (const [name, value] of Object.entries(HSTS)) response.setHeader(name, value ?? '');
    response.setHeader('X-Request-Id', requestId);
    if (closing) response.setHeader('Connection', 'close');
    response.on('close', () => {
      const entry = {
        request_id: requestId,
        method: request.method,
        operation: record.operation ?? 'none',
        status: response.statusCode,
        ms: Math.round((performance.now() - began) * 10) / 10,
        ...(record.credential !== undefined && { credential: record.credential }),
        ...(record.code !== undefined && { code: record.code }),
        ...(response.writableFinished ? {} : { unfinished: true }),
      };
      if (response.statusCode === 500) log.error({ ...entry, err: record.cause }, 'request');
      else if (response.statusCode === 503) log.warn({ ...entry, err: record.cause }, 'request');
      else log.info(entry, 'request');
    });
    for (const handler of options.handlers) if (handler(request, response, { requestId, record })) return;
    options.otherwise(request, response);
  });
  server.on('clientError', refuseBadHttp);
  // Nothing here upgrades or tunnels.
  server.on('upgrade', (_request, socket) => refuse(socket, 400));
  server.on('connect', (_request, socket) => refuse(socket, 405));

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
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), SHUTDOWN).unref();
      });
    },
  };
}

function refuseBadHttp(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else
    refuse(socket, error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400);
}

/** A reply to what was not understood as HTTP, or not wanted: written by hand, since there is no response object. */
function refuse(socket: Duplex, status: number): void {
  const body = JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status], status, code: 'invalid_request' });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}
