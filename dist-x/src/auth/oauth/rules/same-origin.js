import { OAuthError } from '../errors.js';
export const sameOrigin = ({ request, services }) => requireSameOrigin(request, services.baseUrl);
/**
 * Requires that a form comes from a page of the gateway (CP-01). The gateway's pages send no referrer, so browsers give
 * `null` as the origin of the form. The header Sec-Fetch-Site then tells whether the form comes from the gateway. Every
 * browser has sent this header since 2023. A request without this header must name the gateway's origin.
 */
export function requireSameOrigin({ origin, fetchSite }, baseUrl) {
    const ours = origin === baseUrl;
    const right = fetchSite === undefined ? ours : fetchSite === 'same-origin' && (ours || origin === 'null');
    if (!right)
        throw new OAuthError('invalid_request');
}
//# sourceMappingURL=same-origin.js.map