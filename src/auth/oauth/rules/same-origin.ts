import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

/**
 * A form comes from our own page (checks, CP-01). The pages send no referrer, so browsers call their origin `null`; what
 * tells them from a stranger's is Sec-Fetch-Site, which every browser sends since 2023. Without that header whoever sends a
 * form has to name our origin.
 */
export const sameOrigin: Rule = ({ request: { origin, fetchSite }, services }) => {
  const ours = origin === services.baseUrl;
  const right = fetchSite === undefined ? ours : fetchSite === 'same-origin' && (ours || origin === 'null');
  if (!right) throw new OAuthError('invalid_request');
};
