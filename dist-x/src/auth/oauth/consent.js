import { insertConsent } from '../../store/sign-in/grants.js';
import { newId } from '../issue.js';
import { digestOf, newSecret } from '../tokens.js';
import { idleOf } from './durations.js';
import { OAuthError } from './errors.js';
import { requestDigest } from './rules/csrf.js';
import { PageOutdated } from './rules/selection.js';
/** Longest name of an app, in Unicode characters. */
const NAME_MAX = 120;
/**
 * Records the consent of the person and returns the authorization code. Throws PageOutdated if the consent page is
 * outdated or was answered before.
 */
export async function approve(context) {
    const client = context.the('client');
    const { scopes, websites, renewable, dataAccess, duration } = context.the('choice');
    const code = newSecret('code');
    const given = {
        id: newId('cns'),
        session: digestOf(context.request.session ?? ''),
        request: requestDigest(context),
        audience: context.the('resource'),
        scopes,
        sites: websites.map(({ site }) => site),
        code: digestOf(code),
        challenge: context.the('challenge'),
        redirectUri: context.the('redirectUri'),
    };
    const { db } = context.services;
    const store = () => {
        if (client.kind === 'installed') {
            const revision = context.the('shown');
            return insertConsent(db, { ...given, kind: 'installed', credential: client.id, revision, renewable });
        }
        if (!duration)
            throw new OAuthError('invalid_request', { about: 'form' });
        return insertConsent(db, {
            ...given,
            kind: 'by_url',
            client: { ...client, name: [...client.name.trim()].slice(0, NAME_MAX).join('') },
            made: { app: newId('app'), installation: newId('ins'), credential: newId('crd') },
            secret: digestOf(newSecret('secret')),
            dataAccess,
            lasts: duration.seconds,
            idle: idleOf(duration),
        });
    };
    if (!(await store()))
        throw new PageOutdated();
    context.learn('consent', given.id);
    return code;
}
//# sourceMappingURL=consent.js.map