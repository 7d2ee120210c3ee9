import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, randomBytes, timingSafeEqual, } from 'node:crypto';
/**
 * The operator's keys (GATEWAY_KEYS). The first key makes all new signatures and sealed texts. Every key can verify
 * signatures and open sealed texts. So the operator can put a new key first, while signatures and sealed texts of the
 * old key stay valid.
 */
export class Keyring {
    #first;
    #keys;
    /** Derived keys are cached, because deriving a key takes longer than computing a MAC. */
    #derived = new Map();
    #quick = new Map();
    constructor(keys) {
        const [first] = keys;
        if (!first)
            throw new Error('a keyring needs at least one key: set GATEWAY_KEYS');
        this.#first = first;
        this.#keys = new Map(keys.map((key) => [key.kid, key]));
    }
    get kid() {
        return this.#first.kid;
    }
    has(kid) {
        return this.#keys.has(kid);
    }
    sign(purpose, data) {
        return { kid: this.#first.kid, mac: mac(this.#for(this.#first, purpose), data) };
    }
    /** The MAC of `sign` in hexadecimal, for texts of which there are many. */
    digest(purpose, text) {
        const quick = this.#quick.get(purpose) ?? new QuickHmac(this.#for(this.#first, purpose));
        this.#quick.set(purpose, quick);
        return quick.of(text);
    }
    /**
     * True when the named key has made this MAC. An unknown key gives false. For a known key, the comparison takes
     * constant time.
     */
    verify(purpose, data, signature) {
        const key = this.#keys.get(signature.kid);
        if (!key)
            return false;
        const expected = mac(this.#for(key, purpose), data);
        return expected.length === signature.mac.length && timingSafeEqual(expected, signature.mac);
    }
    /**
     * Encrypts a text with AES-256-GCM and the first key. The result is `kid~iv~tag~ciphertext`. `kid` is the name of the
     * key in clear text, and all other parts are in base64url.
     */
    seal(purpose, plain) {
        const iv = randomBytes(12);
        const cipher = createCipheriv('aes-256-gcm', this.#for(this.#first, purpose), iv);
        const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
        return [this.#first.kid, ...[iv, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url'))].join(SEPARATOR);
    }
    open(purpose, sealed) {
        const [kid = '', ...parts] = sealed.split(SEPARATOR);
        const key = this.#keys.get(kid);
        const [iv, tag, text] = parts.map((part) => Buffer.from(part, 'base64url'));
        if (!key || !iv || !tag || !text || parts.length !== 3 || iv.length !== 12 || tag.length !== 16)
            return undefined;
        const decipher = createDecipheriv('aes-256-gcm', this.#for(key, purpose), iv).setAuthTag(tag);
        try {
            return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
        }
        catch (error) {
            // The sealed text was altered, or was sealed by another key with the same name.
            if (error instanceof Error)
                return undefined;
            throw error;
        }
    }
    /** Derives `bytes` bytes from each key, those of the first key first. */
    seeds(purpose, bytes) {
        return [...this.#keys.values()].map(({ secret }) => derived(secret, purpose, bytes));
    }
    #for({ kid, secret }, purpose) {
        const name = `${kid} ${purpose}`;
        const known = this.#derived.get(name);
        if (known)
            return known;
        const key = derived(secret, purpose, 32);
        this.#derived.set(name, key);
        return key;
    }
}
/** The separator in sealed texts. Dots and dashes cannot be the separator, because a key name can contain them. */
const SEPARATOR = '~';
const derived = (secret, purpose, bytes) => new Uint8Array(hkdfSync('sha256', secret, Buffer.alloc(0), `installation-gateway ${purpose}`, bytes));
const mac = (key, data) => createHmac('sha256', key).update(data).digest();
/** The block of SHA-256, in bytes. */
const BLOCK = 64;
/**
 * HMAC-SHA256 (RFC 2104) with one key. The two padded keys are computed once, and `hash` makes no object: a short text takes
 * 0.8 µs in place of 1.7 µs alone, and less than half between other work (27 November 2026).
 */
class QuickHmac {
    #inner = Buffer.alloc(BLOCK + 4_096);
    #outer = Buffer.alloc(BLOCK + 32);
    constructor(key) {
        for (let i = 0; i < BLOCK; i++) {
            this.#inner[i] = (key[i] ?? 0) ^ 0x36;
            this.#outer[i] = (key[i] ?? 0) ^ 0x5c;
        }
    }
    of(text) {
        const inner = this.#innerOf(text);
        this.#outer.write(hash('sha256', inner, 'hex'), BLOCK, 'hex');
        return hash('sha256', this.#outer, 'hex');
    }
    /** UTF-8 has at most three bytes for a UTF-16 unit. */
    #innerOf(text) {
        if (text.length * 3 > this.#inner.length - BLOCK)
            return Buffer.concat([this.#inner.subarray(0, BLOCK), Buffer.from(text)]);
        return this.#inner.subarray(0, BLOCK + this.#inner.write(text, BLOCK));
    }
}
//# sourceMappingURL=keys.js.map