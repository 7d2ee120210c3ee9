import { GROUPS } from '../../../core/scope-texts.js';
import { DATA_ACCESS } from '../../../core/scopes.js';
import { DURATIONS, durationsUpTo } from '../durations.js';
import { OAuthError } from '../errors.js';
import { single } from '../parameters.js';
import { shownVersion } from '../version.js';
/** The consent page is outdated or was answered before. The person can no longer approve it. */
export class PageOutdated extends Error {
    name = 'PageOutdated';
}
/** The buttons that tick or untick a whole group of scopes, or all websites. The page works without a script. */
const TICK = /^(tick|untick)-(?:group-([0-9])|websites)$/;
const COMMON = ['csrf', 'decision', 'scope', 'website_id'];
/** The fields that the form has for each kind of client. */
const FIELDS = {
    installed: [...COMMON, 'renewal'],
    by_url: [...COMMON, 'duration', 'data_access'],
};
/**
 * Requires that the person chose only what the consent page offered (CP-03): scopes, websites, and either a renewal, or
 * one duration and data access. A form without a scope, a website or a duration passes this rule. The surface then shows
 * the page again with a hint.
 */
export const selection = (context) => {
    const { form } = context.request;
    const decision = form && single(form, 'decision');
    const tick = TICK.exec(decision ?? '');
    const known = form && [...form.keys()].every((name) => FIELDS[context.kind].includes(name));
    if (!known || (decision !== 'approve' && decision !== 'deny' && !tick))
        throw malformed();
    const renewal = picked(form, 'renewal', ['yes']);
    const durations = durationsUpTo(context.services.byUrl.longest).map(({ name }) => name);
    const [duration, ...others] = picked(form, 'duration', durations);
    if (others.length > 0)
        throw malformed();
    if (decision === 'deny')
        throw new OAuthError('access_denied');
    // The person consents only to what the shown page says. If the credential, the client's document or the websites have
    // changed since then, the gateway must show the page again.
    if (context.the('shown') !== shownVersion(context))
        throw new PageOutdated();
    const { websites } = context.the('offer');
    const ids = picked(form, 'website_id', websites.map(({ id }) => id));
    const choice = {
        scopes: picked(form, 'scope', context.the('scopes')),
        websites: websites.filter(({ id }) => ids.includes(id)),
        renewable: renewal.length === 1,
        dataAccess: picked(form, 'data_access', DATA_ACCESS),
        duration: DURATIONS.find(({ name }) => name === duration),
    };
    context.learn('pressed', tick ? 'tick' : 'approve');
    context.learn('choice', tick ? toggled(choice, tick, { scopes: context.the('scopes'), websites }) : choice);
};
const malformed = () => new OAuthError('invalid_request', { about: 'form' });
/** The values of a field, in the order of the page. Refuses a value that the page did not offer, and a repeated one. */
function picked(form, field, offered) {
    const given = form.get(field) ?? [];
    const found = offered.filter((one) => given.includes(one));
    if (found.length !== given.length)
        throw malformed();
    return found;
}
/** The choice after a button that ticks or unticks a whole group of scopes, or all websites. */
function toggled(choice, [, button, number], { scopes, websites }) {
    const group = number === undefined ? [] : (GROUPS[Number(number)]?.scopes ?? []);
    const ticked = (all, chosen, of) => all.filter((one) => (of.includes(one) ? button === 'tick' : chosen.includes(one)));
    return {
        ...choice,
        scopes: ticked(scopes, choice.scopes, group),
        websites: ticked(websites, choice.websites, number === undefined ? websites : []),
    };
}
//# sourceMappingURL=selection.js.map