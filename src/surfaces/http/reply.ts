import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { type Failure, titleOf } from '../../core/failures.ts';
import type { QuotaState } from '../../gateway/quota.ts';
import { exchangeOf } from './exchange.ts';

/** Security headers of every reply (check HT-01). */
export const SECURITY_HEADERS: OutgoingHttpHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
};
/**
 * Headers of a reply with status 426 (RFC 9110, section 15.5.22; RFC 6455, section 4.4). `Connection` must contain
 * `upgrade`.
 */
export const UPGRADE_REQUIRED: OutgoingHttpHeaders = {
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  Connection: 'upgrade',
};
export const HSTS: OutgoingHttpHeaders = { 'Strict-Transport-Security': 'max-age=31536000' };

export function rateLimit(quota: QuotaState | undefined): OutgoingHttpHeaders {
  if (!quota) return {};
  return {
    'RateLimit-Policy': `"app";q=${quota.perMinute};w=60`,
    RateLimit: `"app";r=${quota.remaining};t=${quota.reset}`,
  };
}

/**
 * Sends a reply. Throws `answers_unread` or `service_unavailable` when too many bytes are unread. `shared` means that
 * all callers get the same buffer, so its bytes are not counted.
 */
export function send(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  type: string,
  body: string | Uint8Array,
  headers: OutgoingHttpHeaders = {},
  { shared = false }: { readonly shared?: boolean } = {},
): void {
  const exchange = exchangeOf(request);
  if (gone(request, response)) return;
  const length = Buffer.byteLength(body);
  const bare = request.method === 'HEAD';
  if (!shared && !bare) exchange?.hold(length);
  response.writeHead(status, { ...headers, 'Content-Type': type, 'Content-Length': length });
  response.end(bare ? undefined : body);
}

/** Sends a reply without a body. A reply with status 204 has no Content-Length (RFC 9110, section 8.6). */
export function sendNothing(
  request: IncomingMessage,
  response: ServerResponse,
  status: 202 | 204 | 304,
  headers: OutgoingHttpHeaders,
): void {
  if (!gone(request, response)) response.writeHead(status, headers).end();
}

/** True when nothing can be sent any more: the client has disconnected or already has its answer. */
const gone = (request: IncomingMessage, response: ServerResponse): boolean =>
  exchangeOf(request)?.done ?? (response.headersSent || response.destroyed);

export interface ProblemContext {
  readonly baseUrl: string;
  readonly requestId: string;
}

export function problem(failure: Failure, { baseUrl, requestId }: ProblemContext): Record<string, unknown> {
  const { detail, errors, retryAfter, required } = failure.details;
  return {
    type: `${baseUrl}/problems/${failure.code}`,
    title: titleOf(failure.code),
    status: failure.status,
    code: failure.code,
    request_id: requestId,
    ...(detail !== undefined && { detail }),
    ...(errors && { errors }),
    ...(retryAfter !== undefined && { retry_after: retryAfter }),
    ...(required && {
      required: { scopes: required.scopes, data_access: required.dataAccess, unrestricted: required.unrestricted },
    }),
  };
}

export function sendProblem(
  request: IncomingMessage,
  response: ServerResponse,
  failure: Failure,
  context: ProblemContext & Challenge,
  headers: OutgoingHttpHeaders = {},
): void {
  const { allow, retryAfter, size } = failure.details;
  send(request, response, failure.status, 'application/problem+json', JSON.stringify(problem(failure, context)), {
    ...headers,
    ...(failure.status === 401 && { 'WWW-Authenticate': challenge(context) }),
    ...(failure.status === 426 && UPGRADE_REQUIRED),
    ...(allow && { Allow: allow.join(', ') }),
    ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
    ...(size !== undefined && { 'Content-Range': `bytes */${size}` }),
  });
}

interface Challenge {
  /** The URL of the interface's metadata. */
  readonly resource: string;
  readonly tokenSent: boolean;
  /** The scopes for which a client can ask. Some clients read the scopes only here (RFC 6750, section 3). */
  readonly scope?: string;
}

/**
 * The value of the header WWW-Authenticate. The value has no `error` if the request had no token (RFC 6750, section 3;
 * RFC 9728, section 5.1).
 */
function challenge({ resource, tokenSent, scope }: Challenge): string {
  const asked = scope === undefined ? '' : `, scope="${scope}"`;
  return `Bearer ${tokenSent ? 'error="invalid_token", ' : ''}resource_metadata="${resource}"${asked}`;
}
