import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

/**
 * Requires that a form comes from our own page (CP-01). Our pages send no referrer, so browsers send their origin as
 * `null`. Sec-Fetch-Site tells our page from a foreign one; every browser has sent it since 2023. A request without
 * this header must name our origin.
 */
export const sameOrigin: Rule = ({ request: { origin, fetchSite }, services }) => {
  const ours = origin === services.baseUrl;
  const right = fetchSite === undefined ? ours : fetchSite === 'same-origin' && (ours || origin === 'null');
  if (!right) throw new OAuthError('invalid_request');
};
