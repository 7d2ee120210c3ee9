import { SCOPES, type Scope } from '../../../core/scopes.ts';
import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

/**
 * Parses scopes that are separated by single spaces. Every scope must be known and must appear only once (RFC 6749,
 * section 3.3).
 */
const scopesOf = (text: string): Scope[] => {
  const names = text.split(' ');
  const scopes = SCOPES.filter((scope) => names.includes(scope));
  if (scopes.length !== names.length) throw new OAuthError('invalid_scope', { about: 'scope' });
  return scopes;
};

/**
 * Requires that the credential holds every requested scope. A request without `scope` requests all scopes of the
 * credential.
 */
export const scope: Rule = (context) => {
  const held = context.the('client').scopes;
  const text = context.request.parameters?.get('scope')?.[0];
  const scopes = text === undefined ? held : scopesOf(text);
  if (!scopes.every((one) => held.includes(one))) throw new OAuthError('invalid_scope', { about: 'scope' });
  context.learn('scopes', scopes);
};

export const narrowerScope: Rule = (context) => {
  const text = context.request.parameters?.get('scope')?.[0];
  if (text !== undefined) context.learn('scopes', scopesOf(text));
};
