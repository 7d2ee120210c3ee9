import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { Failure } from '../core/failures.ts';
import { FairLimit, QueueFull } from '../flow/fair-limit.ts';

/**
 * Passwords are hashed with scrypt, 32 MiB of memory and a parallelism of 3, as OWASP recommends. The stored hash is a
 * PHC string, which names these parameters. The only rule for a password is its length (NIST SP 800-63B, section
 * 3.1.1).
 */
const PASSWORD_MIN = 12;
const PASSWORD_MAX = 256;

const COST = { ln: 15, r: 8, p: 3 } as const;
const SALT = 16;
const HASH = 32;

/**
 * The largest number of hashes that are computed at the same time. One hash takes 0.3 s of a core and 32 MiB. Other
 * requests need the rest of the machine.
 */
const AT_ONCE = 2;
/** The largest number of hashes that wait to be computed. With this number, a hash waits for about 3 s. */
const WAITING = 16;
/**
 * Milliseconds after which the hashes of an attempt begin no more. After 20 s without traffic, the connection would end
 * without an answer.
 */
const PATIENCE = 10_000;
const RETRY_AFTER = 3;

interface Parts {
  readonly ln: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

const hashing = new FairLimit({ atOnce: AT_ONCE, waiting: WAITING });
/**
 * The hashes of a source wait as one group. This empty source stands for the operator at the command line.
 */
const OPERATOR = '';

export function isPassword(password: string): boolean {
  const length = [...password.normalize('NFKC')].length;
  return length >= PASSWORD_MIN && length <= PASSWORD_MAX && password.isWellFormed();
}

/**
 * Returns the hash as a PHC string, for example `$scrypt$ln=15,r=8,p=3$salt$hash`. Throws `service_unavailable` if too
 * many hashes wait.
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT);
  const hash = await derive(password, { ...COST, salt }, OPERATOR, patience());
  return `$scrypt$ln=${COST.ln},r=${COST.r},p=${COST.p}$${b64(salt)}$${b64(hash)}`;
}

/** This dummy replaces the hash of a person without a password. So the refusal takes as long as every other refusal. */
const DUMMY: Parts = { ...COST, salt: Buffer.alloc(SALT, 'nobody'), hash: Buffer.alloc(HASH, 'nobody') };

/** The time, as performance.now() tells it, until which the hashes of an attempt that begins now can begin. */
export const patience = (): number => performance.now() + PATIENCE;

/**
 * True when the password matches the stored hash `phc`. If `phc` is null, the result is false after the same amount of
 * work. Throws `service_unavailable` if too many hashes wait, or if this one has not begun before `until`.
 */
export async function verifyPassword(
  password: string,
  phc: string | null,
  source = OPERATOR,
  until = patience(),
): Promise<boolean> {
  const stored = phc === null ? undefined : parse(phc);
  const { hash } = stored ?? DUMMY;
  const equal = timingSafeEqual(await derive(password, stored ?? DUMMY, source, until), hash);
  return equal && stored !== undefined;
}

const PHC = /^\$scrypt\$ln=(1[0-7]),r=(\d),p=(\d)\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

function parse(phc: string): Parts | undefined {
  const [, ln = '', r = '', p = '', salt = '', hash = ''] = PHC.exec(phc) ?? [];
  if (hash === '') return undefined;
  return {
    ln: Number(ln),
    r: Number(r),
    p: Number(p),
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}

const b64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

function derive(
  password: string,
  { ln, r, p, salt }: Omit<Parts, 'hash'>,
  source: string,
  until: number,
): Promise<Buffer> {
  const N = 2 ** ln;
  // By default, scrypt in node:crypto may use 32 MiB. The parameters above need 32 MiB and some overhead, so the limit
  // is doubled.
  const options = { N, r, p, maxmem: 2 * 128 * N * r };
  const work = (): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      scrypt(password.normalize('NFKC'), salt, HASH, options, (error, key) => (error ? reject(error) : resolve(key)));
    });
  return hashing.run(source, work, { isWanted: () => performance.now() < until }).catch((error: unknown) => {
    const refused = error instanceof QueueFull || error instanceof Failure;
    throw refused ? new Failure('service_unavailable', { retryAfter: RETRY_AFTER }) : error;
  });
}
