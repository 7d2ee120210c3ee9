import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { OAuthRequest, Services } from '../../../auth/oauth/context.ts';
import { OAuthError } from '../../../auth/oauth/errors.ts';
import type { Parameters } from '../../../auth/oauth/parameters.ts';
import { asFailure } from '../../../gateway/call.ts';
import type { RequestRecord } from '../records.ts';
import { send } from '../reply.ts';
import { headerOf, queryOf } from '../request.ts';
import { sessionOf } from './cookies.ts';
import { readForm } from './form.ts';

export interface PageServices extends Pick<Services, 'baseUrl' | 'db'> {
  /** Display name of the organization's identity provider. `undefined` when no provider is configured. */
  readonly identity: string | undefined;
}

/** What a request tells about its sender, in its headers and by its address. */
export type Sender = Omit<OAuthRequest, 'parameters' | 'form'>;

export const wireOf = (request: IncomingMessage, source: string, baseUrl: string): Sender => {
  const { authorization, origin } = request.headers;
  const fetchSite = headerOf(request.headers, 'sec-fetch-site');
  return { authorization, origin, fetchSite, session: sessionOf(request, baseUrl), source };
};

/** A request of a person's browser for a page, or with the form of a page. */
export class Visit<S extends PageServices = PageServices> {
  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly wire: Sender,
    readonly services: S,
    readonly requestId: string,
    readonly record: RequestRecord,
  ) {}

  /** The query of the authorization request. The URL of every page contains it. */
  get query(): string {
    return queryOf(this.request);
  }

  page(status: number, html: string, callback?: string, headers: OutgoingHttpHeaders = {}): void {
    send(this.request, this.response, status, 'text/html; charset=utf-8', html, {
      ...headers,
      ...pageHeaders(callback),
    });
  }

  /** Redirects with 303, so that the browser does not send the form data again (RFC 9700, section 4.12). */
  redirect(location: string, headers: OutgoingHttpHeaders = {}): void {
    send(this.request, this.response, 303, 'text/plain; charset=utf-8', '', { ...headers, Location: location });
  }

  form(): Promise<Parameters | undefined> {
    return readForm(this.request, this.response);
  }

  /** Notes an error for the log, and returns the refusal that the person gets. */
  refusal(error: unknown): OAuthError {
    const refusal = asOAuthError(error);
    this.record.code = refusal.code;
    this.record.cause = refusal.details.cause;
    return refusal;
  }
}

/** A client with too many unread answers has done nothing wrong in this request: it can send the request again. */
export function asOAuthError(error: unknown): OAuthError {
  if (error instanceof OAuthError) return error;
  const { status, message, details } = asFailure(error);
  const { cause, detail, retryAfter = 1 } = details;
  if (status < 500 && status !== 429) return new OAuthError('invalid_request', { cause, sentence: detail ?? message });
  const code = status === 500 ? 'server_error' : 'temporarily_unavailable';
  return new OAuthError(code, { cause: cause ?? error, retryAfter });
}

/**
 * The policy must allow the origin of the callback, because Chromium applies `form-action` even to the redirect that
 * follows a form.
 */
const pageHeaders = (callback: string | undefined): OutgoingHttpHeaders => ({
  'Content-Security-Policy': `default-src 'none'; style-src 'self'; form-action 'self'${
    callback === undefined ? '' : ` ${sourceOf(new URL(callback))}`
  }; frame-ancestors 'none'; base-uri 'none'`,
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
});

/** The source expression of a callback. A policy cannot name an IPv6 address, so its scheme stands for [::1]. */
const sourceOf = ({ origin, hostname, protocol }: URL): string => (hostname.startsWith('[') ? protocol : origin);
