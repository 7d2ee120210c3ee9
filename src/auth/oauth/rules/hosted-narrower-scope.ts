import { SCOPES } from '../../../core/scopes.ts';
import type { Rule } from '../context.ts';

/**
 * Reads the scopes to which a hosted client narrows a refresh. Unknown scopes are ignored, as in the authorization
 * request, because clients repeat the list with scopes such as `offline_access`. Without a known scope, the refresh
 * asks for all scopes of the consent.
 */
export const hostedNarrowerScope: Rule = (context) => {
  const names = (context.request.parameters?.get('scope')?.[0] ?? '').split(' ');
  const asked = SCOPES.filter((scope) => names.includes(scope));
  if (asked.length > 0) context.learn('scopes', asked);
};
