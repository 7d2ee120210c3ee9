import { OAuthError } from '../../../auth/oauth/errors.js';
import { asFailure } from '../../../gateway/call.js';
import { send } from '../reply.js';
import { queryOf } from '../request.js';
import { sessionOf } from './cookies.js';
import { readForm } from './form.js';
export const wireOf = (request, source, baseUrl) => {
    const { authorization, origin, 'sec-fetch-site': site } = request.headers;
    const fetchSite = typeof site === 'string' ? site : undefined;
    return { authorization, origin, fetchSite, session: sessionOf(request, baseUrl), source };
};
/** A request of a person's browser for a page, or with the form of a page. */
export class Visit {
    request;
    response;
    wire;
    services;
    requestId;
    record;
    constructor(request, response, wire, services, requestId, record) {
        this.request = request;
        this.response = response;
        this.wire = wire;
        this.services = services;
        this.requestId = requestId;
        this.record = record;
    }
    /** The query of the authorization request. The URL of every page contains it. */
    get query() {
        return queryOf(this.request);
    }
    page(status, html, callback, headers = {}) {
        send(this.request, this.response, status, 'text/html; charset=utf-8', html, {
            ...headers,
            ...pageHeaders(callback),
        });
    }
    /** Redirects with 303, so that the browser does not send the form data again (RFC 9700, section 4.12). */
    redirect(location, headers = {}) {
        send(this.request, this.response, 303, 'text/plain; charset=utf-8', '', { ...headers, Location: location });
    }
    form() {
        return readForm(this.request, this.response);
    }
    /** Notes an error for the log, and returns the refusal that the person gets. */
    refusal(error) {
        const refusal = asOAuthError(error);
        this.record.code = refusal.code;
        this.record.cause = refusal.details.cause;
        return refusal;
    }
}
export function asOAuthError(error) {
    if (error instanceof OAuthError)
        return error;
    const failure = asFailure(error);
    if (failure.status < 500)
        return new OAuthError('invalid_request', { cause: failure.details.cause });
    return new OAuthError(failure.status === 500 ? 'server_error' : 'temporarily_unavailable', {
        cause: failure.details.cause ?? error,
        retryAfter: failure.details.retryAfter ?? 1,
    });
}
/**
 * The policy must allow the origin of the callback, because Chromium applies `form-action` even to the redirect that
 * follows a form.
 */
const pageHeaders = (callback) => ({
    'Content-Security-Policy': `default-src 'none'; style-src 'self'; form-action 'self'${callback === undefined ? '' : ` ${sourceOf(new URL(callback))}`}; frame-ancestors 'none'; base-uri 'none'`,
    'X-Frame-Options': 'DENY',
    'Cross-Origin-Opener-Policy': 'same-origin',
});
/** The source expression of a callback. A policy cannot name an IPv6 address, so its scheme stands for [::1]. */
const sourceOf = ({ origin, hostname, protocol }) => (hostname.startsWith('[') ? protocol : origin);
//# sourceMappingURL=visit.js.map