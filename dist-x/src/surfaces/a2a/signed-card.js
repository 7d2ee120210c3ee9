import { canonicalizeAgentCard } from '@a2a-js/sdk';
import { agentCard, forReadersOf03 } from './card.js';
/** Path of the public keys (RFC 7517). */
export const JWKS = '/.well-known/jwks.json';
/**
 * The agent card with its signature, a JWS with a detached payload (A2A, section 8.4).
 *
 * The signed text has only members of the 1.0 schema. Other members, such as those for readers of version 0.3, stand in
 * the card beside it and are not signed. No signed member is empty, because some verifiers drop empty members.
 */
export function signedCard(options, [key]) {
    if (!key)
        throw new Error('a card needs a key');
    const card = agentCard(options);
    const header = { alg: 'ES256', typ: 'JOSE', kid: key.jwk.kid, jku: `${options.baseUrl}${JWKS}` };
    // Of a parsed card, the SDK forgets the security schemes (a2aproject/a2a-js issue 663).
    const text = canonicalizeAgentCard(card); // the function takes the JSON form too
    const [head, payload] = [JSON.stringify(header), text].map((part) => Buffer.from(part).toString('base64url'));
    return {
        ...card,
        ...forReadersOf03(options.baseUrl),
        signatures: [{ protected: head, signature: key.sign(`${head}.${payload}`) }],
    };
}
/** The public keys: of the first key, which signs, and of the others, whose cards may still be cached. */
export const publicKeys = (keys) => ({ keys: keys.map(({ jwk }) => jwk) });
//# sourceMappingURL=signed-card.js.map