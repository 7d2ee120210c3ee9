import { OAuthError } from '../errors.js';
/** A SHA-256 digest in base64url has 43 characters. The last two bits of the last character are zero. */
const CHALLENGE = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;
/**
 * Requires a code challenge with the method S256. The method `plain` would expose the code verifier (RFC 7636, section
 * 4.4.1; RFC 9700, section 2.1.1).
 */
export const codeChallenge = (context) => {
    const { parameters } = context.request;
    const challenge = parameters?.get('code_challenge')?.[0] ?? '';
    if (parameters?.get('code_challenge_method')?.[0] !== 'S256') {
        throw new OAuthError('invalid_request', { about: 'code_challenge_method' });
    }
    if (!CHALLENGE.test(challenge))
        throw new OAuthError('invalid_request', { about: 'code_challenge' });
    context.learn('challenge', challenge);
};
//# sourceMappingURL=code-challenge.js.map