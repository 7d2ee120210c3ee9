import { createHash } from 'node:crypto';
import { OAuthError } from '../errors.js';
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;
/**
 * Computes the code challenge from the verifier (RFC 7636, section 4.6). The store compares the result with the
 * challenge of the authorization code.
 */
export const codeVerifier = (context) => {
    const verifier = context.request.parameters?.get('code_verifier')?.[0] ?? '';
    if (!VERIFIER.test(verifier))
        throw new OAuthError('invalid_request', { about: 'code_verifier' });
    context.learn('challenge', createHash('sha256').update(verifier).digest('base64url'));
};
//# sourceMappingURL=code-verifier.js.map