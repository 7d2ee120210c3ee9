import { createHash } from 'node:crypto';
import { networkOf } from '../flow/network.js';
import { bindSubject, findBySubject, findCandidates } from '../store/administration/people.js';
import { beginSignIn, createSession, endSession, forgetAttempt, forgetFailures, rememberSignIn, } from '../store/sign-in/sessions.js';
import { forgetMemberships, openMemberships } from './memberships.js';
import { verifyPassword } from './passwords.js';
import { digestOf, newSecret } from './tokens.js';
/** The lifetime of a session in seconds. In this time, a person can read two consent pages, one after the other. */
export const SESSION_SECONDS = 3600;
/**
 * Limits for failed sign-ins within `window` seconds. `perAccount` counts the failures of one account from one network.
 * `perSource` counts all failures from one network. In addition, an account may have 50 failures from all networks
 * together. This last limit does not apply to a network where the account has signed in before (0003_sign_in.sql).
 */
const LIMITS = { window: 900, perAccount: 5, perSource: 20 };
/**
 * The number of passwords that a sign-in without a known organization verifies. A refusal always takes this number, so
 * the time does not tell whether and in how many organizations an e-mail address is known. The number bounds the cost
 * of an attempt to 0.9 s of a core. A person of more organizations names one.
 */
const VERIFICATIONS = 3;
/** This word stands for all organizations together where an account needs a tenant. No tenant has this name. */
const ANY = 'any';
/**
 * Signs a person in by e-mail address and password. Every refusal gives the same answer and takes the same amount of
 * work. So a caller cannot find out the reason of a refusal. Possible reasons are an unknown address, a wrong password,
 * a disabled person, or a person who may not consent.
 *
 * `tenant` is the organization to which the person must belong. With null, the person can belong to any organization.
 * `organization` is then an id, an external_id or a name, and limits the search. The attempt counts once for the e-mail
 * address, whatever organizations know the address. If the password is right in several organizations, the person
 * chooses among these organizations.
 *
 * Throws `service_unavailable` if too many passwords wait to be checked. Then the attempt does not count as a failure.
 */
export async function signIn(db, attempt) {
    const { tenant, organization, password, approvers = false } = attempt;
    const email = emailOf(attempt.email);
    const source = networkOf(attempt.source);
    const recorded = await beginSignIn(db, { source, account: accountOf(tenant ?? ANY, email) }, LIMITS);
    if ('wait' in recorded)
        return { refused: 'throttled', retryAfter: recorded.wait };
    const most = tenant === null ? VERIFICATIONS : 1;
    let named = [];
    const open = async () => {
        const candidates = await findCandidates(db, { tenant, email, organization, most, approvers });
        named = candidates;
        const right = [];
        for (let n = 0; n < most; n++) {
            const candidate = candidates[n];
            if (!candidate && right.length > 0)
                break;
            const matches = await verifyPassword(password, candidate?.password ?? null, source);
            if (candidate && matches)
                right.push(candidate);
        }
        return openFor(db, right);
    };
    const session = await open().catch((error) => withdraw(db, recorded, error));
    if (session === undefined) {
        attempt.refused?.(named);
        return { refused: 'credentials' };
    }
    // A person with the password of one organization must not guess the password of another organization without limit.
    await rememberSignIn(db, recorded, { forgetFailures: tenant !== null });
    return session;
}
/** The people with this e-mail address and a password who may sign in. For the audit record of a locked account. */
export const peopleNamed = (db, { tenant, email, organization, approvers }) => {
    const most = tenant === null ? VERIFICATIONS : 1;
    return findCandidates(db, { tenant, email: emailOf(email), organization, approvers, most });
};
/**
 * Deletes the record of a sign-in attempt that failed because of the gateway, not because of the person. Then throws
 * the error again.
 */
async function withdraw(db, recorded, error) {
    // If the store itself fails, the record of the attempt cannot be deleted. The attempt then counts as failed for 15
    // minutes.
    await forgetAttempt(db, recorded).catch(() => undefined);
    throw error;
}
/**
 * Signs in a person whom the identity provider has identified. First looks for the person who is already bound to the
 * provider's subject. If nobody is bound to the subject, looks for the person with the verified e-mail address, and
 * binds the subject to this person. If `tenant` is null, does so for every organization, and the person chooses among
 * the found organizations.
 */
export async function signInWith(db, { tenant, subject, email, approvers = false }) {
    const known = await findBySubject(db, { tenant, subject, approvers });
    const unbound = email !== undefined && (tenant === null || known.length === 0);
    const bound = unbound ? await bindSubject(db, { tenant, subject, email: emailOf(email), approvers }) : [];
    return (await openFor(db, [...known, ...bound])) ?? { refused: 'credentials' };
}
/** Lets a person sign in again before the limit of failed sign-ins ends. Returns the number of forgotten failures. */
export async function unlock(db, { tenant, email }) {
    const here = await forgetFailures(db, accountOf(tenant, email));
    return here + (await forgetFailures(db, accountOf(ANY, email)));
}
export async function signOut(db, session) {
    await forgetMemberships(db, session);
    return endSession(db, digestOf(session));
}
/** Opens the session of the only person. For several people, opens the choice among their organizations. */
async function openFor(db, people) {
    const [first] = people;
    if (first && people.length > 1)
        return { session: await openMemberships(db, people), person: first.id, chooses: true };
    return first && openSession(db, first.id, first.password);
}
export async function openSession(db, person, password) {
    const session = newSecret('session');
    const digest = digestOf(session);
    const made = await createSession(db, {
        digest,
        person,
        seconds: SESSION_SECONDS,
        ...(password !== undefined && { password }),
    });
    return made ? { session, person } : undefined;
}
const EMAIL_MAX = 320;
/**
 * Returns an e-mail address in the form in which the store keeps it. Returns an empty string if the text is not an
 * e-mail address. No person has an empty address. An address with a leading hyphen would be an option in a command line.
 */
export function emailOf(given) {
    const email = given.trim().normalize('NFC').toLowerCase();
    return email.length <= EMAIL_MAX &&
        /^(?!-)[^\s\p{Cc}\p{Cf}@]+@[^\s\p{Cc}\p{Cf}@]+$/u.test(email) &&
        email.isWellFormed()
        ? email
        : '';
}
const accountOf = (tenant, email) => createHash('sha256').update(`${tenant} ${email}`).digest();
//# sourceMappingURL=sign-in.js.map