import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
/**
 * The prefixes of the gateway's secrets. A secret is `<prefix><43 base62><6 base62 of CRC32>`. The store keeps only
 * SHA-256 digests, because 256 random bits need no slow hash. With the checksum, the gateway and secret scanners
 * recognize a mistyped secret without a query.
 */
const PREFIX = {
    installation_live: 'igw_live_',
    installation_test: 'igw_test_',
    access_live: 'igwa_live_',
    access_test: 'igwa_test_',
    refresh_live: 'igwr_live_',
    refresh_test: 'igwr_test_',
    code: 'igwc_',
    session: 'igwp_',
    link: 'igwl_',
    secret: 'igws_',
};
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BODY = 43;
const CHECKSUM = 6;
const FORM = /^(?:igw[ar]?_(?:live|test)_|igw[clps]_)[0-9A-Za-z]{49}$/;
const BEARER = /^igwa?_/;
export const newSecret = (kind) => secretFrom(kind, randomBytes(32));
/** The secret with the given 32 random bytes. */
export function secretFrom(kind, bytes) {
    const body = PREFIX[kind] + base62(BigInt(`0x${bytes.toString('hex')}`), BODY);
    return body + checksum(body);
}
/** Compares two secret texts in constant time. Only the time for texts of different lengths differs. */
export function sameSecret(one, other) {
    const [a, b] = [Buffer.from(one), Buffer.from(other)];
    return a.length === b.length && timingSafeEqual(a, b);
}
export function wellFormed(secret) {
    return FORM.test(secret) && checksum(secret.slice(0, -CHECKSUM)) === secret.slice(-CHECKSUM);
}
/** True for an installation token or an access token. Checks only the form and the checksum. */
export const isBearer = (token) => BEARER.test(token) && wellFormed(token);
export const digestOf = (secret) => hash('sha256', secret, 'buffer');
const checksum = (body) => base62(BigInt(crc32(body)), CHECKSUM);
function base62(value, length) {
    let rest = value;
    let digits = '';
    for (let i = 0; i < length; i++) {
        digits = (ALPHABET[Number(rest % 62n)] ?? '') + digits;
        rest /= 62n;
    }
    return digits;
}
//# sourceMappingURL=tokens.js.map