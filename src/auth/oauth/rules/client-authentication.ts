import { timingSafeEqual } from 'node:crypto';
import { decodedForm } from '../../../core/decoded.ts';
import type { InstalledClient } from '../../../store/sign-in/clients.ts';
import type { ProvedClient } from '../../../store/sign-in/grants.ts';
import { digestOf, wellFormed } from '../../tokens.ts';
import { isCredentialId } from '../clients/installed.ts';
import type { OAuthContext, Rule } from '../context.ts';
import { livesAt, OAuthError } from '../errors.ts';

interface BasicCredentials {
  readonly id: string;
  readonly secret: string;
}

/**
 * Authenticates the client by HTTP Basic, the only method that the gateway supports. Credential id and secret are
 * form-urlencoded (RFC 6749, section 2.3.1). If the id or the secret is malformed, the gateway sends no query.
 *
 * A cached client with the right secret always passes. So failures of other clients at the same address cannot lock the
 * client out.
 *
 * Every other request looks the client up in the store. When an address has failed too often, the number of its further
 * look-ups is limited. Each cached client has its own limit. All clients that are not cached share one limit of the
 * process.
 */
export const clientAuthentication: Rule = async (context) => {
  const given = credentialsOf(context.request.authorization);
  const { request, services } = context;
  const digest = digestOf(given?.secret ?? '');
  const remembered = given && services.installed.remembered(given.id);
  const proof = proofOf(remembered, digest);
  // Only the store can refuse an address, because the ranges may have become wider.
  if (remembered && proof && admits(remembered, request.source)) {
    context.learn('client', remembered);
    context.learn('proof', proof);
    return;
  }
  const wait = services.failures.wait(request.source);
  if (wait === 0) return countingProve(context, given, digest);
  const budget = remembered ? services.lookups.wait(remembered.id) : services.strangers.wait();
  if (!given || budget > 0) throw new OAuthError('slow_down', { retryAfter: wait });
  if (remembered) services.lookups.failed(remembered.id);
  else services.strangers.take();
  await prove(context, given, digest);
};

/**
 * Authenticates the client from the store, because a statement has found the cached client outdated. Earlier failures
 * of the address do not matter, because the cached client had passed the check.
 */
export const proveAgain = (context: OAuthContext): Promise<void> => {
  const given = credentialsOf(context.request.authorization);
  return countingProve(context, given, digestOf(given?.secret ?? ''));
};

/** The attempt counts as failed before the look-up. Otherwise a thousand parallel attempts could all pass the limit. */
async function countingProve(
  context: OAuthContext,
  given: BasicCredentials | undefined,
  digest: Buffer,
): Promise<void> {
  const { request, services } = context;
  services.failures.failed(request.source);
  try {
    await prove(context, given, digest);
    services.failures.succeeded(request.source);
  } catch (error) {
    // The store failed, not the client. So the attempt does not count as a failure of the client's address.
    if (!(error instanceof OAuthError)) services.failures.succeeded(request.source);
    throw error;
  }
}

async function prove(context: OAuthContext, given: BasicCredentials | undefined, digest: Buffer): Promise<void> {
  const client = given && (await context.services.installed.fresh(given.id, context.request.source));
  const proof = proofOf(client, digest);
  if (!client || !proof) throw new OAuthError('invalid_client');
  if (!admits(client, context.request.source)) {
    // The answer for a wrong secret, so that the caller does not learn that the secret is right.
    throw new OAuthError('invalid_client', { refused: { credential: client.id, logged: 'address_refused' } });
  }
  requireHere(client, context.services);
  context.learn('client', client);
  context.learn('proof', proof);
}

/** Refuses a client whose organization lives in another cell. */
export function requireHere({ movedTo }: InstalledClient, services: OAuthContext['services']): void {
  if (movedTo !== null) throw livesAt(movedTo, services);
}

const admits = (client: InstalledClient, from: string): boolean => client.admits?.(from) ?? true;

/**
 * Compares the digest with the digests of two secrets: the current secret and the secret before the last rotation. For
 * an unknown client, compares with dummy digests, so that the response time reveals nothing (TK-03).
 */
function proofOf(client: InstalledClient | undefined, digest: Buffer): ProvedClient | undefined {
  const { secretDigest, oldSecretDigest } = client ?? NOBODY;
  const current = timingSafeEqual(secretDigest, digest);
  const old = timingSafeEqual(oldSecretDigest ?? NONE, digest) && oldSecretDigest !== null;
  if (!client || !(current || old)) return undefined;
  return { credential: client.id, revision: client.revision, oldSecret: !current };
}

// This dummy digest is built like the digests from the driver. Node reads other kinds of buffers at another speed,
// which would change the response time.
const NONE = Buffer.from('00'.repeat(32), 'hex');
const NOBODY: Pick<InstalledClient, 'secretDigest' | 'oldSecretDigest'> = { secretDigest: NONE, oldSecretDigest: null };

/** Reads the id and the secret of HTTP Basic. Returns `undefined` if the id or the secret is malformed. */
export function credentialsOf(header: string | undefined): BasicCredentials | undefined {
  const [, encoded] = /^Basic {1,8}([A-Za-z0-9+/]+={0,2})$/i.exec(header ?? '') ?? [];
  const text = Buffer.from(encoded ?? '', 'base64').toString('latin1');
  const at = text.indexOf(':');
  if (encoded === undefined || at === -1) return undefined;
  const [id = '', secret = ''] = [decodedForm(text.slice(0, at)), decodedForm(text.slice(at + 1))];
  return isCredentialId(id) && wellFormed(secret) ? { id, secret } : undefined;
}
