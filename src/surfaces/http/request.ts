import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { namesText } from '../../core/accepted-values.ts';
import { Failure, type ParameterError, wrongParameter } from '../../core/failures.ts';
import { printable, refusalOf } from '../../gateway/input-errors.ts';

/** Headers that may occur only once. Of two, Node silently keeps the first, or joins both (check HT-08). */
const SINGLETONS: ReadonlySet<string> = new Set([
  'a2a-version',
  'authorization',
  'idempotency-key',
  'if-match',
  'if-range',
  'content-type',
  'content-length',
  'host',
  'origin',
  'range',
]);

const ONCE = 'the header once';

/** Throws for an ambiguous request: Host is missing (RFC 9112, section 3.2), or a singleton occurs twice. */
export function refuseAmbiguous(request: IncomingMessage): void {
  if (request.headers.host === undefined && request.httpVersion === '1.1') throw new Failure('invalid_request');
  const seen = new Set<string>();
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i]?.toLowerCase() ?? '';
    if (!SINGLETONS.has(name)) continue;
    if (seen.has(name)) throw wrongParameter('duplicate_parameter', name, ONCE);
    seen.add(name);
  }
}

export function refuseOrigins(request: IncomingMessage): void {
  const sent = request.rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'origin');
  if (sent.length > 1) throw wrongParameter('invalid_request', 'Origin', ONCE, 'duplicate_parameter');
}

/** Refuses an unexpected body, because ignoring it would mislead its sender. Closes the connection. */
export function refuseBody(request: IncomingMessage, response: ServerResponse): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (encoding === undefined && (length === undefined || /^0+$/.test(length))) return;
  response.setHeader('Connection', 'close');
  throw new Failure('invalid_request', {
    detail: 'The operation takes no body. Send the request without one.',
    errors: [{ pointer: '', code: 'invalid_request', expected: 'no body' }],
  });
}

/**
 * Refuses the parameters of a query that are not `known`, and a query without parameters. `query` is empty, or begins
 * with its question mark.
 */
export function refuseQuery(query: string, known: readonly string[] = []): void {
  if (query === '') return;
  const names = [...new Set(new URLSearchParams(query).keys())];
  const unknown = names.length === 0 ? ['?'] : names.filter((name) => !known.includes(name)).map(printable);
  const expected = namesText(known);
  const errors = unknown.map((parameter): ParameterError => ({ parameter, code: 'unsupported_parameter', expected }));
  if (errors.length > 0) throw refusalOf(errors);
}

/**
 * The token of `Authorization: Bearer …` after one space or several (RFC 6750, section 2.1). Undefined for an absent or
 * different header.
 */
export function bearerOf(request: IncomingMessage): string | undefined {
  return /^Bearer {1,8}([A-Za-z0-9._~+/-]+=*)$/i.exec(request.headers.authorization ?? '')?.[1];
}

/** The text of a header. Only of Set-Cookie, Node makes a list. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/**
 * Turns a target in absolute form into one in origin form (RFC 9112, section 3.2.2), and decodes nothing. Returns the
 * refusal of a target with another authority than Host, because the checks of foreign pages and the choice of a site
 * read only Host.
 */
export function toOriginForm(request: IncomingMessage): Failure | undefined {
  const [, authority, rest = ''] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(request.url ?? '') ?? [];
  if (authority === undefined) return undefined;
  const { host = '' } = request.headers;
  if (authority === '' || authority.toLowerCase() !== host.toLowerCase())
    return new Failure('invalid_request', { detail: 'The request target names another host than the header Host.' });
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  return undefined;
}

export const pathOf = ({ url = '' }: IncomingMessage): string =>
  url.includes('?') ? url.slice(0, url.indexOf('?')) : url;

export const queryOf = ({ url = '' }: IncomingMessage): string =>
  url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';

/** `below`: the path after the endpoint. `query`: empty, or the query with its question mark. */
export interface EndpointUrl {
  readonly below: string;
  readonly query: string;
}

/**
 * Splits the URL of a request to an endpoint. Undefined for another path. One slash at the end is allowed, because some
 * HTTP libraries add one to a base address.
 */
export function atEndpoint(request: IncomingMessage, endpoint: string): EndpointUrl | undefined {
  const [, path = '', query = ''] = /^([^?]*)(.*)$/s.exec(request.url ?? '') ?? [];
  const below = path.slice(endpoint.length).replace(/\/$/, '');
  return path.startsWith(endpoint) && /^(?:\/|$)/.test(below) ? { below, query } : undefined;
}
