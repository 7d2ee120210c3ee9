import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/** One of the operator's keys: its name, which travels with what it made, and 32 bytes. */
export interface Key {
  readonly kid: string;
  readonly secret: Uint8Array;
}

/** What a key is derived for, so that what one purpose made is nothing to another (RFC 5869). */
export type Purpose = 'cursor' | 'webhook secret';

/**
 * The operator's keys (GATEWAY_KEYS; decisions, section 23): the first one signs and seals, all of them verify and open,
 * so that a key can be replaced while what the old one made is still around.
 */
export class Keyring {
  readonly #first: Key;
  readonly #keys: ReadonlyMap<string, Key>;
  /** By kid and purpose: deriving takes longer than a MAC. */
  readonly #derived = new Map<string, Uint8Array>();

  constructor(keys: readonly Key[]) {
    const [first] = keys;
    if (!first) throw new Error('a keyring needs a key');
    this.#first = first;
    this.#keys = new Map(keys.map((key) => [key.kid, key]));
  }

  /** Name of the key that signs. */
  get kid(): string {
    return this.#first.kid;
  }

  /** HMAC-SHA256 under the first key, and that key's name. */
  sign(purpose: Purpose, data: string): { kid: string; mac: Buffer } {
    return { kid: this.#first.kid, mac: mac(this.#for(this.#first, purpose), data) };
  }

  /** Whether the key of that name made the MAC; in constant time for a key that is known. */
  verify(purpose: Purpose, data: string, signature: { kid: string; mac: Uint8Array }): boolean {
    const key = this.#keys.get(signature.kid);
    if (!key) return false;
    const expected = mac(this.#for(key, purpose), data);
    return expected.length === signature.mac.length && timingSafeEqual(expected, signature.mac);
  }

  /** AES-256-GCM under the first key: `kid.iv.tag.ciphertext`, each but the name in base64url. */
  seal(purpose: Purpose, plain: string): string {
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#for(this.#first, purpose), iv);
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return [this.#first.kid, ...[iv, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url'))].join(
      SEPARATOR,
    );
  }

  /** What was sealed; `undefined` where no key of ours opens it. */
  open(purpose: Purpose, sealed: string): string | undefined {
    const [kid = '', ...parts] = sealed.split(SEPARATOR);
    const key = this.#keys.get(kid);
    const [iv, tag, text] = parts.map((part) => Buffer.from(part, 'base64url'));
    if (!key || !iv || !tag || !text || parts.length !== 3 || iv.length !== 12 || tag.length !== 16) return undefined;
    const decipher = createDecipheriv('aes-256-gcm', this.#for(key, purpose), iv).setAuthTag(tag);
    try {
      return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
    } catch (error) {
      // Changed, or made by another key of the same name.
      if (error instanceof Error) return undefined;
      throw error;
    }
  }

  #for({ kid, secret }: Key, purpose: Purpose): Uint8Array {
    const name = `${kid} ${purpose}`;
    const known = this.#derived.get(name);
    if (known) return known;
    const key = new Uint8Array(hkdfSync('sha256', secret, Buffer.alloc(0), `installation-gateway ${purpose}`, 32));
    this.#derived.set(name, key);
    return key;
  }
}

/** Names may hold dots and dashes, so neither separates. */
const SEPARATOR = '~';

const mac = (key: Uint8Array, data: string): Buffer => createHmac('sha256', key).update(data).digest();

const LIST = /^[\w.-]+:[A-Za-z0-9+/]{43}=(,[\w.-]+:[A-Za-z0-9+/]{43}=)*$/;

/** `kid:BASE64` of 32 bytes, several separated by commas, no name twice; `undefined` for anything else. */
export function parseKeys(text: string): Key[] | undefined {
  if (!LIST.test(text)) return undefined;
  const keys = text.split(',').map((one) => {
    const [kid = '', encoded = ''] = one.split(':');
    return { kid, secret: Buffer.from(encoded, 'base64') };
  });
  return new Set(keys.map(({ kid }) => kid)).size === keys.length ? keys : undefined;
}
