import { SCOPES } from '../../../core/scopes.ts';
import type { Rule } from '../context.ts';
import { scopesOf } from '../metadata.ts';

/**
 * Reads the scopes that a hosted client asks for. Without a known scope, these are all scopes that the metadata of the
 * interface names. Unknown scopes are ignored (RFC 6749, section 3.3), because clients send scopes of other protocols,
 * such as `offline_access`. The person chooses among the scopes, so asking for more gives nothing.
 */
export const hostedScope: Rule = (context) => {
  const names = (context.request.parameters?.get('scope')?.[0] ?? '').split(' ');
  const asked = SCOPES.filter((scope) => names.includes(scope));
  const named = scopesOf(context.the('resource'), context.services.skillScopes);
  context.learn('scopes', asked.length > 0 ? asked : named);
};
