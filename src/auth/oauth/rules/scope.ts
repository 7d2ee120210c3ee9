import { SCOPES, type Scope } from '../../../core/scopes.ts';
import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

/** Scopes separated by one space each, every one known and none twice (RFC 6749, section 3.3). */
const scopesOf = (text: string): Scope[] => {
  const names = text.split(' ');
  const scopes = SCOPES.filter((scope) => names.includes(scope));
  if (scopes.length !== names.length) throw new OAuthError('invalid_scope', { about: 'scope' });
  return scopes;
};

/** What is asked for is what the credential holds, or less; all of it where nothing is asked for. */
export const scope: Rule = (context) => {
  const held = context.the('client').scopes;
  const text = context.request.parameters?.get('scope')?.[0];
  const scopes = text === undefined ? held : scopesOf(text);
  if (!scopes.every((one) => held.includes(one))) throw new OAuthError('invalid_scope', { about: 'scope' });
  context.learn('scopes', scopes);
};

/** The same for a refresh, where the consent is the measure, and the store holds it. */
export const narrowerScope: Rule = (context) => {
  const text = context.request.parameters?.get('scope')?.[0];
  if (text !== undefined) context.learn('scopes', scopesOf(text));
};
