import { randomBytes } from 'node:crypto';
import { endCredential, insertCredential, readCredentials, rotateSecrets, } from '../store/administration/credentials.js';
import { digestOf, newSecret } from './tokens.js';
export const newId = (prefix) => `${prefix}_${randomBytes(16).toString('hex')}`;
export async function issueCredential(db, request) {
    const { secret, token, digests } = secretsFor(request.environment);
    const credential = await insertCredential(db, { id: newId('crd'), ...request, digests });
    return credential && { credential, secret, token };
}
/**
 * Issues a new secret and a new token for a credential. The old secret and the old token stay valid for `overlap`
 * seconds. Returns `undefined` if the credential is not active, or belongs to a client without a secret.
 */
export async function rotateCredential(db, id, overlap) {
    return atRevision(db, id, async (current) => {
        if (current.state !== 'active' || current.client_host !== null)
            return { outcome: undefined };
        const { secret, token, digests } = secretsFor(current.environment);
        const credential = await rotateSecrets(db, current, digests, overlap);
        return credential && { outcome: { credential, secret, token } };
    });
}
/**
 * Ends a credential immediately, with all its secrets and tokens. Returns `undefined` if the credential does not exist,
 * or if the administrator may not change it.
 */
export async function revokeCredential(db, id, by) {
    return atRevision(db, id, async (current) => {
        const outcome = await endCredential(db, current, by);
        return outcome && { outcome };
    });
}
const ATTEMPTS = 20;
/**
 * Reads a credential and runs a change on it. Repeats both steps if another writer has changed the credential
 * meanwhile.
 */
async function atRevision(db, id, change) {
    let before;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const [current] = await readCredentials(db, { id });
        // At the same revision, not another writer but the administrator's lack of authority has stopped the change.
        if (!current || current.revision === before)
            return undefined;
        before = current.revision;
        const done = await change(current);
        if (done)
            return done.outcome;
    }
    throw new Error(`other writers changed credential ${id} during each of ${ATTEMPTS} attempts: try again`);
}
function secretsFor(environment) {
    const secret = newSecret('secret');
    const token = newSecret(environment === 'live' ? 'installation_live' : 'installation_test');
    return { secret, token, digests: { secret: digestOf(secret), token: digestOf(token) } };
}
//# sourceMappingURL=issue.js.map