import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { OAuthRequest, Services } from '../../auth/oauth/context.ts';
import { readParameters } from '../../auth/oauth/parameters.ts';
import type { openRecordPages } from '../../gateway/record-page.ts';
import type { RequestRecord } from '../http/records.ts';
import { send } from '../http/reply.ts';
import { queryOf } from '../http/request.ts';
import { readForm } from './token.ts';

export interface PageServices extends Services {
  /** Display name of the organization's identity provider. `undefined` when no provider is configured. */
  readonly identity: string | undefined;
  readonly records: ReturnType<typeof openRecordPages>;
}

export class Visit {
  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly wire: Omit<OAuthRequest, 'parameters'>,
    readonly services: PageServices,
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

  async form(): Promise<ReturnType<typeof readParameters>> {
    return readParameters(await readForm(this.request, this.response));
  }
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
