import { requireSameOrigin } from '../../auth/oauth/rules/same-origin.js';
import { requireEmptyForm, requireFields, requireSignInForm } from '../../auth/oauth/rules/sign-in-form.js';
import { SESSION_SECONDS } from '../../auth/sign-in.js';
import { holderOfLink, LINK_PATH, signInByLink } from '../../auth/sign-in-links.js';
import { isConsolePage } from '../../gateway/console/paths.js';
import { sessionCookie } from '../http/pages/cookies.js';
import { beginIdentity } from '../http/pages/identity.js';
import { leave, tryToSignIn } from '../http/pages/sign-in.js';
import { tellPassed, tellRefused } from '../http/pages/told.js';
import { CONSOLE, organizationsPage, signInPage } from '../http/pages/views.js';
import { linkEndedPage, linkPage } from './link.js';
import { ListQuery } from './query.js';
const SIGN_IN = '/console/sign-in';
const SIGN_OUT = '/console/sign-out';
const IDENTITY = '/console/identity';
/** The ways into the console and out of it. */
export const doors = (guarded, provider) => [
    [SIGN_IN, guarded('POST', 'console_sign_in', receiveSignIn)],
    [SIGN_OUT, guarded('POST', 'console_sign_out', receiveSignOut)],
    ...(provider
        ? [
            [IDENTITY, guarded('GET', 'oauth_identity', (visit) => beginIdentity(visit, provider, onward(visit)))],
        ]
        : []),
    [LINK_PATH, guarded('GET', 'console_link', showLink)],
    [`${LINK_PATH}/use`, guarded('POST', 'console_link', useLink)],
];
/** The page of the console to which the browser goes after the sign-in. */
function onward(visit) {
    const to = new ListQuery(visit.query).text('to');
    return to !== undefined && isConsolePage(to) ? to : '/console';
}
const leading = (leg, to) => (to === '/console' ? leg : `${leg}?to=${encodeURIComponent(to)}`);
/** Shows the sign-in, or the choice of an organization. The browser goes to the page `to` afterwards. */
export function showSignIn(visit, to, { status = 200, email = '', organizations = [], ...asked }, headers = {}) {
    const page = isConsolePage(to) ? to : '/console';
    const action = leading(SIGN_IN, page);
    const { identity } = visit.services;
    const text = organizations.length > 0
        ? organizationsPage({ action, signOut: SIGN_OUT, own: CONSOLE, organizations })
        : signInPage({
            action,
            own: CONSOLE,
            email,
            ...asked,
            ...(identity !== undefined && { identity: { action: leading(IDENTITY, page), name: identity } }),
        });
    visit.page(status, text, undefined, headers);
}
async function receiveSignIn(visit) {
    visit.record.does = 'authentication';
    const form = await visit.form();
    requireSameOrigin(visit.wire, visit.services.baseUrl);
    requireSignInForm(form, true);
    const to = onward(visit);
    await tryToSignIn(visit, form, {
        tenant: null,
        approvers: true,
        onward: to,
        ask: (status, given, headers) => showSignIn(visit, to, { status, ...given }, headers),
    });
}
async function receiveSignOut(visit) {
    visit.record.does = 'revocation';
    const form = await visit.form();
    requireSameOrigin(visit.wire, visit.services.baseUrl);
    requireEmptyForm(form);
    await leave(visit, '/console');
}
/**
 * Shows the page of a one-time link. Chat programs, mail scanners and browsers fetch an address before anybody clicks,
 * so the GET signs nobody in and does not use the link up. The button does.
 */
async function showLink(visit) {
    const link = new ListQuery(visit.query).text('link') ?? '';
    const holder = await holderOfLink(visit.services.db, { link, source: visit.wire.source });
    if (!holder)
        return showLinkEnded(visit);
    visit.page(200, linkPage({ ...holder, action: `${LINK_PATH}/use`, link }));
}
async function useLink(visit) {
    visit.record.does = 'authentication';
    const form = await visit.form();
    requireSameOrigin(visit.wire, visit.services.baseUrl);
    requireFields(form, ['link']);
    const signedIn = await signInByLink(visit.services.db, {
        link: form?.get('link')?.[0] ?? '',
        source: visit.wire.source,
    });
    if ('ended' in signedIn) {
        tellRefused(visit, signedIn.ended, 'credentials');
        return showLinkEnded(visit);
    }
    visit.record.audit = { person: signedIn.person, by: 'link' };
    await tellPassed(visit, signedIn.person);
    visit.redirect('/console', {
        'Set-Cookie': sessionCookie(visit.services.baseUrl, signedIn.session, SESSION_SECONDS),
    });
}
function showLinkEnded(visit) {
    visit.record.code = 'credentials';
    visit.page(403, linkEndedPage());
}
//# sourceMappingURL=doors.js.map