import { timingSafeEqual } from 'node:crypto';
import type { Client, Proved } from '../../../store/sign-in/oauth.ts';
import { digestOf, wellFormed } from '../../tokens.ts';
import { isCredentialId } from '../clients.ts';
import type { OAuthContext, Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { decode } from '../parameters.ts';

interface Given {
  readonly id: string;
  readonly secret: string;
}

/**
 * HTTP Basic with credential id and secret, each form-urlencoded first (RFC 6749, section 2.3.1). Nothing else
 * authenticates. An id or secret of wrong form costs no query. A client that is remembered is let in whatever others do at
 * its address. Others are looked up as long as their address has not failed too often, and then out of a budget: of the
 * client's own where the store has confirmed that it exists, or else of the whole process.
 */
export const clientAuthentication: Rule = async (context) => {
  const given = credentialsOf(context.request.authorization);
  const { request, services } = context;
  const digest = digestOf(given?.secret ?? '');
  const remembered = given && services.clients.remembered(given.id);
  const proof = proofOf(remembered, digest);
  if (remembered && proof) {
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
 * The same again with what the store has now, after what was remembered has turned out stale. It was proved by that, so
 * that what others have done at its address does not count.
 */
export const proveAgain = (context: OAuthContext): Promise<void> => {
  const given = credentialsOf(context.request.authorization);
  return countingProve(context, given, digestOf(given?.secret ?? ''));
};

/** It has failed until it is known to be right: of a thousand at once no more are looked up than of a thousand in turn. */
async function countingProve(context: OAuthContext, given: Given | undefined, digest: Buffer): Promise<void> {
  const { request, services } = context;
  services.failures.failed(request.source);
  try {
    await prove(context, given, digest);
    services.failures.succeeded(request.source);
  } catch (error) {
    // The store is to blame.
    if (!(error instanceof OAuthError)) services.failures.succeeded(request.source);
    throw error;
  }
}

async function prove(context: OAuthContext, given: Given | undefined, digest: Buffer): Promise<void> {
  const client = given && (await context.services.clients.fresh(given.id, context.request.source));
  const proof = proofOf(client, digest);
  if (!client || !proof) throw new OAuthError('invalid_client');
  context.learn('client', client);
  context.learn('proof', proof);
}

/** Compares with both secrets, and with stand-ins where there is none: the same work whoever asks (checks, TK-03). */
function proofOf(client: Client | undefined, digest: Buffer): Proved | undefined {
  const { secretDigest, oldSecretDigest } = client ?? NOBODY;
  const current = timingSafeEqual(secretDigest, digest);
  const old = timingSafeEqual(oldSecretDigest ?? NONE, digest) && oldSecretDigest !== null;
  if (!client || !(current || old)) return undefined;
  return { credential: client.id, revision: client.revision, oldSecret: !current };
}

// Made as the driver makes those of the store: Node reads a buffer of its own heap in another time.
const NONE = Buffer.from('00'.repeat(32), 'hex');
const NOBODY: Pick<Client, 'secretDigest' | 'oldSecretDigest'> = { secretDigest: NONE, oldSecretDigest: null };

/** What was sent; `undefined` also where it can be nobody's. */
function credentialsOf(header: string | undefined): Given | undefined {
  const [, encoded] = /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(header ?? '') ?? [];
  const text = Buffer.from(encoded ?? '', 'base64').toString('latin1');
  const at = text.indexOf(':');
  if (encoded === undefined || at === -1) return undefined;
  try {
    const given = { id: decode(text.slice(0, at)), secret: decode(text.slice(at + 1)) };
    return isCredentialId(given.id) && wellFormed(given.secret) ? given : undefined;
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
