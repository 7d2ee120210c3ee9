import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { single } from '../parameters.ts';

/** The consent page is outdated or was answered before. The person can no longer approve it. */
export class PageOutdated extends Error {
  override readonly name = 'PageOutdated';
}

/**
 * Requires that the person ticked only scopes and websites that the consent page offered (CP-03). The page offers the
 * requested scopes and the websites of the credential. A form without a ticked scope or without a ticked website passes
 * this rule. The surface then shows the page again with a hint.
 */
export const selection: Rule = (context) => {
  const { form } = context.request;
  const decision = form && single(form, 'decision');
  const renewal = form?.get('renewal') ?? [];
  const known = ['csrf', 'decision', 'renewal', 'scope', 'website_id'];
  const wrong =
    !form ||
    [...form.keys()].some((name) => !known.includes(name)) ||
    (decision !== 'approve' && decision !== 'deny') ||
    renewal.length > 1 ||
    (renewal.length === 1 && renewal[0] !== 'yes');
  if (wrong) throw new OAuthError('invalid_request', { about: 'form' });
  if (decision === 'deny') throw new OAuthError('access_denied');
  // The person consents only to the grants on the shown page. If the credential has changed since then, the gateway
  // must show the page again.
  if (context.the('shown') !== context.the('client').revision) throw new PageOutdated();
  const asked = form.get('scope') ?? [];
  const named = form.get('website_id') ?? [];
  const scopes = context.the('scopes').filter((scope) => asked.includes(scope));
  const websites = context.the('client').websites.filter(({ id }) => named.includes(id));
  if (scopes.length !== asked.length || websites.length !== named.length) {
    throw new OAuthError('invalid_request', { about: 'form' });
  }
  context.learn('choice', { scopes, sites: websites.map(({ site }) => site), renewable: renewal.length === 1 });
};
