import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { Failure } from '../core/failures.ts';
import { NoTurn, Turns } from './turns.ts';

/**
 * Passwords of people (issue 5). scrypt with 32 MiB and three lanes, of the strength that OWASP names; stored as a PHC
 * string, so that a hash says how it was made. Length is all that is asked of a password (NIST SP 800-63B, 3.1.1).
 */
const PASSWORD_MIN = 12;
const PASSWORD_MAX = 256;

const COST = { ln: 15, r: 8, p: 3 } as const;
const SALT = 16;
const HASH = 32;

/** At most 2 at a time: one takes 0.3 s of a core and 32 MiB, and the requests of everybody else want the other one. */
const AT_ONCE = 2;
/** Those who wait behind them wait 3 s at most; whoever comes then is told to come again, or the source with the most is. */
const WAITING = 16;
const RETRY_AFTER = 3;

interface Parts {
  readonly ln: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

const turns = new Turns({ atOnce: AT_ONCE, waiting: WAITING });
/** Of an operator at the command line, which has a process of its own. */
const OPERATOR = '';

/** Whether the text may become a password: 12 to 256 characters after normalisation. */
export function isPassword(password: string): boolean {
  const length = [...password.normalize('NFKC')].length;
  return length >= PASSWORD_MIN && length <= PASSWORD_MAX && password.isWellFormed();
}

/** What is stored of a password: `$scrypt$ln=15,r=8,p=3$salt$hash`. Throws `service_unavailable` when too many wait. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT);
  const hash = await derive(password, { ...COST, salt }, OPERATOR);
  return `$scrypt$ln=${COST.ln},r=${COST.r},p=${COST.p}$${b64(salt)}$${b64(hash)}`;
}

/** Of those who have none: being refused costs them what it costs everybody else. */
const DUMMY: Parts = { ...COST, salt: Buffer.alloc(SALT, 'nobody'), hash: Buffer.alloc(HASH, 'nobody') };

/**
 * Whether the password is the one behind the PHC string; with null it is not, after the same work. Sources take
 * turns. Throws `service_unavailable` when too many wait.
 */
export async function verifyPassword(password: string, phc: string | null, source = OPERATOR): Promise<boolean> {
  const stored = phc === null ? undefined : parse(phc);
  const { hash } = stored ?? DUMMY;
  const equal = timingSafeEqual(await derive(password, stored ?? DUMMY, source), hash);
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

/** Base64 without padding, as PHC strings have it. */
const b64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

function derive(password: string, { ln, r, p, salt }: Omit<Parts, 'hash'>, source: string): Promise<Buffer> {
  const N = 2 ** ln;
  // The default bound of node:crypto is exactly what the work itself needs, and leaves nothing for the rest.
  const options = { N, r, p, maxmem: 2 * 128 * N * r };
  const work = (): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      scrypt(password.normalize('NFKC'), salt, HASH, options, (error, key) => (error ? reject(error) : resolve(key)));
    });
  return turns.run(source, work).catch((error: unknown) => {
    throw error instanceof NoTurn ? new Failure('service_unavailable', { retryAfter: RETRY_AFTER }) : error;
  });
}
