import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { Failure } from '../core/failures.js';
import { FairLimit, QueueFull } from '../flow/fair-limit.js';
/**
 * Passwords are hashed with scrypt, 32 MiB of memory and a parallelism of 3, as OWASP recommends. The stored hash is a
 * PHC string, which names these parameters. The only rule for a password is its length (NIST SP 800-63B, section
 * 3.1.1).
 */
const PASSWORD_MIN = 12;
const PASSWORD_MAX = 256;
const COST = { ln: 15, r: 8, p: 3 };
const SALT = 16;
const HASH = 32;
/**
 * The largest number of hashes that are computed at the same time. One hash takes 0.3 s of a core and 32 MiB. Other
 * requests need the rest of the machine.
 */
const AT_ONCE = 2;
/** The largest number of hashes that wait to be computed. With this number, a hash waits at most 3 s. */
const WAITING = 16;
const RETRY_AFTER = 3;
const hashing = new FairLimit({ atOnce: AT_ONCE, waiting: WAITING });
/**
 * The hashes of a source wait as one group. This empty source stands for the operator at the command line.
 */
const OPERATOR = '';
export function isPassword(password) {
    const length = [...password.normalize('NFKC')].length;
    return length >= PASSWORD_MIN && length <= PASSWORD_MAX && password.isWellFormed();
}
/**
 * Returns the hash as a PHC string, for example `$scrypt$ln=15,r=8,p=3$salt$hash`. Throws `service_unavailable` if too
 * many hashes wait.
 */
export async function hashPassword(password) {
    const salt = randomBytes(SALT);
    const hash = await derive(password, { ...COST, salt }, OPERATOR);
    return `$scrypt$ln=${COST.ln},r=${COST.r},p=${COST.p}$${b64(salt)}$${b64(hash)}`;
}
/** This dummy replaces the hash of a person without a password. So the refusal takes as long as every other refusal. */
const DUMMY = { ...COST, salt: Buffer.alloc(SALT, 'nobody'), hash: Buffer.alloc(HASH, 'nobody') };
/**
 * True when the password matches the stored hash `phc`. If `phc` is null, the result is false after the same amount of
 * work. Throws `service_unavailable` if too many hashes wait.
 */
export async function verifyPassword(password, phc, source = OPERATOR) {
    const stored = phc === null ? undefined : parse(phc);
    const { hash } = stored ?? DUMMY;
    const equal = timingSafeEqual(await derive(password, stored ?? DUMMY, source), hash);
    return equal && stored !== undefined;
}
const PHC = /^\$scrypt\$ln=(1[0-7]),r=(\d),p=(\d)\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;
function parse(phc) {
    const [, ln = '', r = '', p = '', salt = '', hash = ''] = PHC.exec(phc) ?? [];
    if (hash === '')
        return undefined;
    return {
        ln: Number(ln),
        r: Number(r),
        p: Number(p),
        salt: Buffer.from(salt, 'base64'),
        hash: Buffer.from(hash, 'base64'),
    };
}
const b64 = (bytes) => bytes.toString('base64').replace(/=+$/, '');
function derive(password, { ln, r, p, salt }, source) {
    const N = 2 ** ln;
    // By default, scrypt in node:crypto may use 32 MiB. The parameters above need 32 MiB and some overhead, so the limit
    // is doubled.
    const options = { N, r, p, maxmem: 2 * 128 * N * r };
    const work = () => new Promise((resolve, reject) => {
        scrypt(password.normalize('NFKC'), salt, HASH, options, (error, key) => (error ? reject(error) : resolve(key)));
    });
    return hashing.run(source, work).catch((error) => {
        throw error instanceof QueueFull ? new Failure('service_unavailable', { retryAfter: RETRY_AFTER }) : error;
    });
}
//# sourceMappingURL=passwords.js.map