import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { single } from '../parameters.ts';

/** The page shows what is so no more, or has had its answer: it cannot be approved. */
export class PageOutdated extends Error {
  override readonly name = 'PageOutdated';
}

/**
 * What was ticked was offered: scopes that were asked for, websites of the credential (checks, CP-03). A choice without
 * a scope or a website is none yet, and the page says so.
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
  // What the person has seen is what is consented to: flags, restrictions and all.
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
