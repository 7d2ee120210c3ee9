import { chooseOrganization } from '../../../auth/memberships.js';
import { SESSION_SECONDS, signIn, signOut } from '../../../auth/sign-in.js';
import { clearedSession, sessionCookie } from './cookies.js';
import { tellLocked, tellPassed, tellRefused } from './told.js';
/** Answers a sign-in form whose fields the rules have checked. */
export async function tryToSignIn(visit, form, { tenant, approvers = false, onward, ask }) {
    const [email = ''] = form?.get('email') ?? [];
    const [password = ''] = form?.get('password') ?? [];
    const { services, wire } = visit;
    const enter = async ({ session, person, chooses }) => {
        visit.record.audit = { person };
        if (!chooses)
            await tellPassed(visit, person);
        visit.redirect(onward, { 'Set-Cookie': sessionCookie(services.baseUrl, session, SESSION_SECONDS) });
    };
    const [token] = form?.get('choose') ?? [];
    if (token !== undefined) {
        const choice = { secret: wire.session, token, seconds: SESSION_SECONDS };
        const chosen = await chooseOrganization(services.db, choice);
        if (chosen)
            return enter(chosen);
        visit.record.code = 'session_ended';
        ask(403, { email: '', problem: 'Your sign-in has ended. Sign in again.' });
        return;
    }
    const organization = form?.get('organization')?.[0]?.trim() || undefined;
    const refused = (named) => tellRefused(visit, named, 'credentials');
    const asked = { tenant, organization, email, approvers };
    const done = await signIn(services.db, { ...asked, password, source: wire.source, refused });
    if ('session' in done)
        return enter(done);
    visit.record.code = done.refused;
    if (done.refused === 'throttled') {
        await tellLocked(visit, asked);
        const minutes = Math.ceil(done.retryAfter / 60);
        const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`;
        const problem = `Too many sign-in attempts have failed. Wait ${wait}, then try again. The operator of this gateway can unlock you at once.`;
        ask(429, { email, problem, locked: true }, { 'Retry-After': String(done.retryAfter) });
    }
    else {
        const who = approvers ? 'No owner, admin or approver' : 'No owner or admin';
        const problem = `${who}${tenant === null ? '' : ' of this organization'} has this e-mail and password. Check the e-mail and the password, then try again.`;
        ask(403, { email, problem });
    }
}
/** Ends the session of the browser, and redirects the browser to `onward`. */
export async function leave(visit, onward) {
    const { session } = visit.wire;
    const person = session === undefined ? undefined : await signOut(visit.services.db, session);
    if (person === undefined)
        visit.record.does = undefined;
    else {
        visit.record.audit = { person };
        await tellPassed(visit, person);
    }
    visit.redirect(onward, { 'Set-Cookie': clearedSession(visit.services.baseUrl) });
}
//# sourceMappingURL=sign-in.js.map