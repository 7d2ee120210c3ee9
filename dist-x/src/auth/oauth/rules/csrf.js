import { createHash, createHmac } from 'node:crypto';
import { sameSecret } from '../../tokens.js';
import { OAuthError } from '../errors.js';
import { single } from '../parameters.js';
import { shownVersion } from '../version.js';
export function requestDigest(context) {
    const asked = [...(context.request.parameters ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    return createHash('sha256')
        .update(JSON.stringify([context.the('person').id, asked]))
        .digest();
}
/**
 * Makes a CSRF token that is valid for one session, one request and one version of the consent page. So the gateway
 * refuses an outdated form and a form of another sign-in or another request.
 */
export const csrfToken = (context, version = shownVersion(context)) => {
    const mac = createHmac('sha256', context.request.session ?? '')
        .update(`${version} `)
        .update(requestDigest(context));
    return `${version}.${mac.digest('base64url')}`;
};
/**
 * Requires a form that the gateway has shown to this person for this request (CP-01). The form contains a CSRF token.
 * The token names the version of the page that the gateway showed.
 */
export const csrf = (context) => {
    const text = (context.request.form && single(context.request.form, 'csrf')) ?? '';
    const shown = Number(/^([1-9][0-9]{0,9})\./.exec(text)?.[1] ?? 0);
    if (!sameSecret(text, csrfToken(context, shown)))
        throw new OAuthError('invalid_request', { about: 'form' });
    context.learn('shown', shown);
};
//# sourceMappingURL=csrf.js.map