import { organizationsOf } from '../../auth/memberships.js';
import { requireSameOrigin } from '../../auth/oauth/rules/same-origin.js';
import { requireEmptyForm, requireSignInForm } from '../../auth/oauth/rules/sign-in-form.js';
import { isRecordId, openRecordPages } from '../../gateway/record-page.js';
import { exchangeOf } from '../http/exchange.js';
import { beginIdentity } from '../http/pages/identity.js';
import { problems } from '../http/pages/problem.js';
import { pageRoutes, routesHandler, styleRoute } from '../http/pages/routes.js';
import { leave, tryToSignIn } from '../http/pages/sign-in.js';
import { organizationsPage, RECORD, signInPage } from '../http/pages/views.js';
import { missingPage, recordPage, STYLE } from './page.js';
const { showProblem, showRefusal } = problems({
    advice: RECORD.advice,
    away: 'The gateway could not read the record.',
});
const PATH = /^\/c\/([^/]+?)(?:\/(sign-in|sign-out|identity))?$/;
/** The pages of records, at /c/<id>. A signed-in person of the organization that has the record reads the record. */
export function recordSurface({ baseUrl, db }, source, provider) {
    const page = pageRoutes({ baseUrl, db, identity: provider?.name });
    const read = openRecordPages(db);
    const style = styleRoute('record/record.css');
    const missing = page('GET', 'record', showMissing);
    const guarded = (method, operation, show) => page(method, operation, (visit) => show(visit).catch((error) => showRefusal(visit, error)));
    /** Returns the route of a path below `/c/`. A path with a malformed id gets the route of the 404 page. */
    const routeOf = (path) => {
        if (path === STYLE)
            return style;
        const [, id = '', leg] = PATH.exec(path) ?? [];
        if (!isRecordId(id))
            return path.startsWith('/c/') ? missing : undefined;
        if (leg === undefined)
            return guarded('GET', 'record', (visit) => showRecord(visit, id, read));
        if (leg === 'sign-in')
            return guarded('POST', 'record_sign_in', (visit) => receiveSignIn(visit, id));
        if (leg === 'sign-out')
            return guarded('POST', 'record_sign_out', (visit) => receiveSignOut(visit, id));
        return provider ? guarded('GET', 'oauth_identity', (visit) => beginIdentity(visit, provider, `/c/${id}`)) : missing;
    };
    return routesHandler('record', routeOf, { baseUrl }, source);
}
/** Answers a request for an address that no record can have. */
function showMissing(visit) {
    visit.record.code = 'not_found';
    visit.page(404, missingPage(undefined));
}
async function showRecord(visit, id, read) {
    const { record, wire } = visit;
    const page = await read({ id, session: wire.session, source: wire.source });
    if (page.state === 'signed_out')
        return showDoor(visit, id);
    const signOut = `/c/${id}/sign-out`;
    const { viewer } = page;
    record.does = 'view';
    record.audit = { person: viewer.authority.personId, ...(page.state === 'shown' && { record: id }) };
    exchangeOf(visit.request)?.report({
        actor: { organizationId: viewer.organizationId, personId: viewer.authority.personId },
        operation: 'record',
        websiteId: viewer.website?.id,
        targets: [id],
        ...{ outcome: 'ok', status: 200, units: 0 }, // the end of the request says more (http/audited.ts)
    });
    if (page.state === 'throttled') {
        record.code = 'quota_exceeded';
        const sentence = 'You have opened too many records in a short time. Wait a minute, then try again.';
        showProblem(visit, 429, { title: 'Too many records', sentence }, page.retryAfter);
    }
    else if (page.state === 'missing') {
        record.code = 'not_found';
        visit.page(404, missingPage({ viewer, signOut }));
    }
    else
        visit.page(200, recordPage({ id, viewer, signOut, record: page.record }));
}
async function receiveSignIn(visit, id) {
    visit.record.does = 'authentication';
    const form = await visit.form();
    requireSameOrigin(visit.wire, visit.services.baseUrl);
    requireSignInForm(form, true);
    await tryToSignIn(visit, form, {
        tenant: null,
        onward: `/c/${id}`,
        ask: (status, given, headers) => visit.page(status, signIn(visit, id, given), undefined, headers),
    });
}
async function receiveSignOut(visit, id) {
    visit.record.does = 'revocation';
    const form = await visit.form();
    requireSameOrigin(visit.wire, visit.services.baseUrl);
    requireEmptyForm(form);
    await leave(visit, `/c/${id}`);
}
/** Shows the sign-in form. A person of several organizations who has just signed in gets the choice of an organization. */
async function showDoor(visit, id) {
    const organizations = await organizationsOf(visit.services.db, visit.wire.session);
    if (organizations.length === 0)
        return visit.page(200, signIn(visit, id, { email: '' }));
    const forms = { action: `/c/${id}/sign-in`, signOut: `/c/${id}/sign-out` };
    visit.page(200, organizationsPage({ ...forms, own: RECORD, organizations }));
}
function signIn({ services: { identity } }, id, given) {
    return signInPage({
        action: `/c/${id}/sign-in`,
        own: RECORD,
        ...given,
        ...(identity !== undefined && { identity: { action: `/c/${id}/identity`, name: identity } }),
    });
}
//# sourceMappingURL=record.js.map