import { DATA_ACCESS } from '../../../core/scopes.ts';
import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { durationsUpTo } from '../hosted/durations.ts';
import { fingerprint } from '../hosted/page.ts';
import { single } from '../parameters.ts';
import { PageOutdated, TICK, tickGroup } from './selection.ts';

/**
 * Requires that the person chose only what the consent page of a hosted client offered: scopes, websites, data access
 * and one duration. A form without a scope, a website or a duration passes this rule. The surface then shows the page
 * again with a hint.
 */
export const hostedSelection: Rule = (context) => {
  const { form } = context.request;
  const decision = form && single(form, 'decision');
  const duration = form?.get('duration') ?? [];
  const [tick, button = '', number] = TICK.exec(decision ?? '') ?? [];
  const known = ['csrf', 'decision', 'duration', 'data_access', 'scope', 'website_id'];
  const offered = new Set<string>(durationsUpTo(context.services.hosted.longest).map(({ name }) => name));
  const wrong =
    !form ||
    [...form.keys()].some((name) => !known.includes(name)) ||
    (decision !== 'approve' && decision !== 'deny' && tick === undefined) ||
    duration.length > 1 ||
    duration.some((one) => !offered.has(one));
  if (wrong) throw new OAuthError('invalid_request', { about: 'form' });
  if (decision === 'deny') throw new OAuthError('access_denied');
  // The person consents only to what the shown page says. If the client's document or the websites have changed since
  // then, the gateway must show the page again.
  if (context.the('shown') !== fingerprint(context)) throw new PageOutdated();
  const asked = form.get('scope') ?? [];
  const named = form.get('website_id') ?? [];
  const flags = form.get('data_access') ?? [];
  const scopes = context.the('scopes').filter((scope) => asked.includes(scope));
  const { websites: all } = context.the('offer');
  const websites = all.filter(({ id }) => named.includes(id));
  const dataAccess = DATA_ACCESS.filter((flag) => flags.includes(flag));
  if (scopes.length !== asked.length || websites.length !== named.length || dataAccess.length !== flags.length) {
    throw new OAuthError('invalid_request', { about: 'form' });
  }
  const now = tickGroup(tick, button, number, { scopes: context.the('scopes'), websites: all }, { scopes, websites });
  context.learn('pressed', tick === undefined ? 'approve' : 'tick');
  context.learn('hostedChoice', {
    scopes: now.scopes,
    sites: now.websites.map(({ site }) => site),
    dataAccess,
    duration: duration[0],
  });
};
