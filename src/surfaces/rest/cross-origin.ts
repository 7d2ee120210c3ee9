import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Tool } from '../../core/tool.ts';
import { headerOf } from '../http/request.ts';

/** What a page may read of an answer, beside its body. */
const EXPOSED = 'RateLimit, RateLimit-Policy, Retry-After, X-Request-Id';
/** Seconds for which a browser keeps the answer to a preflight. */
const MAX_AGE = 600;

/**
 * CORS for pages of registered origins, only where a call is bound to an origin: realtime sessions. A page that opens a
 * socket creates the session itself. There are no cookies, so the headers grant nothing that the bearer token does not.
 * Sets the headers of every answer to the request. Returns those of the answer to a preflight, and undefined for
 * every other request.
 */
export async function allowOrigin(
  request: IncomingMessage,
  response: ServerResponse,
  methods: ReadonlyMap<string, Tool>,
  registered: () => Promise<ReadonlySet<string>>,
): Promise<OutgoingHttpHeaders | undefined> {
  const { origin } = request.headers;
  const bound = [...methods.values()].filter((tool) => tool.origin && tool.status !== 101).map(({ method }) => method);
  if (origin === undefined || bound.length === 0 || !(await registered()).has(origin)) return undefined;
  response.setHeader('Access-Control-Allow-Origin', origin);
  response.setHeader('Vary', 'Origin');
  const asked = headerOf(request.headers, 'access-control-request-method');
  if (request.method !== 'OPTIONS' || asked === undefined) {
    response.setHeader('Access-Control-Expose-Headers', EXPOSED);
    return undefined;
  }
  return {
    'Access-Control-Allow-Methods': bound.join(', '),
    'Access-Control-Allow-Headers': 'Authorization, Content-Type',
    'Access-Control-Max-Age': MAX_AGE,
  };
}
