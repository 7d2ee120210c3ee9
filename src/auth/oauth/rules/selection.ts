import { GROUPS } from '../../../core/scope-texts.ts';
import type { Scope } from '../../../core/scopes.ts';
import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { single } from '../parameters.ts';

/** The consent page is outdated or was answered before. The person can no longer approve it. */
export class PageOutdated extends Error {
  override readonly name = 'PageOutdated';
}

/** The buttons that tick or untick a whole group of scopes, or all websites. The page works without a script. */
export const TICK = /^(tick|untick)-(?:group-([0-9])|websites)$/;

/** The list with all items of `group`, or without these items. The order is the order of `all`. */
const ticked = <T>(all: readonly T[], chosen: readonly T[], group: readonly T[], button: string): T[] =>
  all.filter((one) => (group.includes(one) ? button === 'tick' : chosen.includes(one)));

/**
 * Requires that the person ticked only scopes and websites that the consent page offered (CP-03). The page offers the
 * requested scopes and the websites of the credential. A form without a ticked scope or without a ticked website passes
 * this rule. The surface then shows the page again with a hint.
 */
export const selection: Rule = (context) => {
  const { form } = context.request;
  const decision = form && single(form, 'decision');
  const renewal = form?.get('renewal') ?? [];
  const [tick, button = '', number] = TICK.exec(decision ?? '') ?? [];
  const known = ['csrf', 'decision', 'renewal', 'scope', 'website_id'];
  const wrong =
    !form ||
    [...form.keys()].some((name) => !known.includes(name)) ||
    (decision !== 'approve' && decision !== 'deny' && tick === undefined) ||
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
  const offered = context.the('client').websites;
  const websites = offered.filter(({ id }) => named.includes(id));
  if (scopes.length !== asked.length || websites.length !== named.length) {
    throw new OAuthError('invalid_request', { about: 'form' });
  }
  const all = { scopes: context.the('scopes'), websites: offered };
  const now = tickGroup(tick, button, number, all, { scopes, websites });
  context.learn('pressed', tick === undefined ? 'approve' : 'tick');
  context.learn('choice', {
    scopes: now.scopes,
    sites: now.websites.map(({ site }) => site),
    renewable: renewal.length === 1,
  });
};

interface Ticks<W> {
  readonly scopes: readonly Scope[];
  readonly websites: readonly W[];
}

/** The ticks of the form after a button for a whole group. `tick` is `undefined` if the person pressed no such button. */
export function tickGroup<W>(
  tick: string | undefined,
  button: string,
  number: string | undefined,
  all: Ticks<W>,
  chosen: Ticks<W>,
): Ticks<W> {
  if (tick === undefined) return chosen;
  const group = number === undefined ? [] : (GROUPS[Number(number)]?.scopes ?? []);
  return {
    scopes: ticked(all.scopes, chosen.scopes, group, button),
    websites: ticked(all.websites, chosen.websites, number === undefined ? all.websites : [], button),
  };
}
