import { createHash } from 'node:crypto';
import { p256 } from '@noble/curves/nist.js';
/** Bytes from which a key is made. So many bytes keep the bias of the modulus away (FIPS 186-5, A.2.1). */
const SEED = 48;
/**
 * The keys of the agent card, derived from the operator's keys. The first key signs. The others are only published.
 *
 * All replicas have the operator's keys, so all sign with the same key, and no private key is stored. The signature is
 * deterministic (RFC 6979), which node:crypto does not offer. So all replicas serve the same bytes under one ETag.
 */
export const cardKeys = (keys) => keys.seeds('agent card', SEED).map(keyOf);
function keyOf(seed) {
    const secret = p256.utils.randomSecretKey(seed);
    const point = Buffer.from(p256.getPublicKey(secret, false));
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'));
    if (x === undefined || y === undefined)
        throw new Error('a public key has two coordinates');
    const named = { crv: 'P-256', kty: 'EC', x, y };
    const kid = createHash('sha256').update(JSON.stringify(named)).digest('base64url');
    return {
        jwk: { ...named, kid, alg: 'ES256', use: 'sig' },
        sign: (text) => Buffer.from(p256.sign(Buffer.from(text), secret)).toString('base64url'),
    };
}
//# sourceMappingURL=card-keys.js.map