import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * One of the operator's keys: 32 bytes and a name. Each signature and each sealed text contains the name of its key.
 */
export interface Key {
  readonly kid: string;
  readonly secret: Uint8Array;
}

/** The purpose of a derived key (RFC 5869). A signature or sealed text of one purpose is invalid for all others. */
export type Purpose = 'cursor' | 'webhook secret';

/**
 * The operator's keys (GATEWAY_KEYS). The first key signs and seals. All keys verify and open. So the operator can
 * replace a key while signatures and sealed texts of the old key are still in use.
 */
export class Keyring {
  readonly #first: Key;
  readonly #keys: ReadonlyMap<string, Key>;
  /**
   * Derived keys by the name of the operator's key and the purpose. They are cached, because deriving a key takes
   * longer than computing a MAC.
   */
  readonly #derived = new Map<string, Uint8Array>();

  constructor(keys: readonly Key[]) {
    const [first] = keys;
    if (!first) throw new Error('a keyring needs at least one key: set GATEWAY_KEYS');
    this.#first = first;
    this.#keys = new Map(keys.map((key) => [key.kid, key]));
  }

  /** The name of the key that signs. */
  get kid(): string {
    return this.#first.kid;
  }

  /** Computes the HMAC-SHA256 of the data with the first key. Returns the MAC and the name of the key. */
  sign(purpose: Purpose, data: string): { kid: string; mac: Buffer } {
    return { kid: this.#first.kid, mac: mac(this.#for(this.#first, purpose), data) };
  }

  /** True when the named key has made this MAC. If the key is known, the comparison takes constant time. */
  verify(purpose: Purpose, data: string, signature: { kid: string; mac: Uint8Array }): boolean {
    const key = this.#keys.get(signature.kid);
    if (!key) return false;
    const expected = mac(this.#for(key, purpose), data);
    return expected.length === signature.mac.length && timingSafeEqual(expected, signature.mac);
  }

  /**
   * Encrypts a text with AES-256-GCM and the first key. The result is `kid~iv~tag~ciphertext`, and `kid` is the name of
   * the key. All other parts are in base64url.
   */
  seal(purpose: Purpose, plain: string): string {
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#for(this.#first, purpose), iv);
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return [this.#first.kid, ...[iv, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url'))].join(
      SEPARATOR,
    );
  }

  /** Decrypts a sealed text. Returns `undefined` if none of the keys opens the text. */
  open(purpose: Purpose, sealed: string): string | undefined {
    const [kid = '', ...parts] = sealed.split(SEPARATOR);
    const key = this.#keys.get(kid);
    const [iv, tag, text] = parts.map((part) => Buffer.from(part, 'base64url'));
    if (!key || !iv || !tag || !text || parts.length !== 3 || iv.length !== 12 || tag.length !== 16) return undefined;
    const decipher = createDecipheriv('aes-256-gcm', this.#for(key, purpose), iv).setAuthTag(tag);
    try {
      return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
    } catch (error) {
      // The text was altered, or another key of the same name sealed it.
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

/** The separator in sealed texts. A key name can contain dots and dashes, so neither can separate. */
const SEPARATOR = '~';

const mac = (key: Uint8Array, data: string): Buffer => createHmac('sha256', key).update(data).digest();

const LIST = /^[\w.-]+:[A-Za-z0-9+/]{43}=(,[\w.-]+:[A-Za-z0-9+/]{43}=)*$/;

/**
 * Parses a list of keys in the form `kid:BASE64`, separated by commas. Each key has 32 bytes and a unique name. Returns
 * `undefined` if the text is malformed.
 */
export function parseKeys(text: string): Key[] | undefined {
  if (!LIST.test(text)) return undefined;
  const keys = text.split(',').map((one) => {
    const [kid = '', encoded = ''] = one.split(':');
    return { kid, secret: Buffer.from(encoded, 'base64') };
  });
  return new Set(keys.map(({ kid }) => kid)).size === keys.length ? keys : undefined;
}
