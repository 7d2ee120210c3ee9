import { createHash } from 'node:crypto';
import { p256 } from '@noble/curves/nist.js';
import type { Keyring } from './keys.ts';

/** Bytes from which a key is made. So many bytes keep the bias of the modulus away (FIPS 186-5, A.2.1). */
const SEED = 48;

/** A public key that verifies agent cards (RFC 7517). `kid` is its thumbprint (RFC 7638), so who pins one pins both. */
interface CardJwk {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly kid: string;
  readonly alg: 'ES256';
  readonly use: 'sig';
}

/** A key for agent cards. The private part is only in the closure of `sign`. */
export interface CardKey {
  readonly jwk: CardJwk;
  /** The ES256 signature (RFC 7518, section 3.4) in base64url. The same text always gets the same signature. */
  sign(text: string): string;
}

/**
 * The keys of the agent card, derived from the operator's keys. The first key signs. The others are only published.
 *
 * All replicas have the operator's keys, so all sign with the same key, and no private key is stored. The signature is
 * deterministic (RFC 6979), which node:crypto does not offer. So all replicas serve the same bytes under one ETag.
 */
export const cardKeys = (keys: Keyring): CardKey[] => keys.seeds('agent card', SEED).map(keyOf);

function keyOf(seed: Uint8Array): CardKey {
  const secret = p256.utils.randomSecretKey(seed);
  const point = Buffer.from(p256.getPublicKey(secret, false));
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'));
  if (x === undefined || y === undefined) throw new Error('a public key has two coordinates');
  const named = { crv: 'P-256', kty: 'EC', x, y } as const;
  const kid = createHash('sha256').update(JSON.stringify(named)).digest('base64url');
  return {
    jwk: { ...named, kid, alg: 'ES256', use: 'sig' },
    sign: (text) => Buffer.from(p256.sign(Buffer.from(text), secret)).toString('base64url'),
  };
}
