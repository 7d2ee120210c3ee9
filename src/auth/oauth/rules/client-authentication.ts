import { timingSafeEqual } from 'node:crypto';
import type { Client, Proved } from '../../../store/oauth.ts';
import { digestOf, wellFormed } from '../../tokens.ts';
import type { OAuthContext, Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { decode } from '../parameters.ts';

/**
 * HTTP Basic with credential id and secret, each form-urlencoded first (RFC 6749, section 2.3.1). Nothing else
 * authenticates. A secret of wrong form costs no query. For an address that has failed too often a client is looked up a
 * few times a minute and no more, and one that is remembered is let in all the same: nobody is locked out by others.
 */
export const clientAuthentication: Rule = async (context) => {
  const given = credentialsOf(context.request.authorization);
  const { clients } = context.services;
  const digest = digestOf(given?.secret ?? '');
  const remembered = given && clients.remembered(given.id);
  const proof = proofOf(remembered, digest);
  if (remembered && proof) {
    context.learn('client', remembered);
    context.learn('proof', proof);
    return;
  }
  const { request, services } = context;
  const wait = services.failures.wait(request.source);
  if (wait > 0) {
    const spared = given && wellFormed(given.secret) && services.lookups.wait(given.id) === 0;
    if (!spared) throw new OAuthError('slow_down', { retryAfter: wait });
    services.lookups.failed(given.id);
  }
  await prove(context, given, digest);
};

/**
 * The same again with what the store has now, after what was remembered has turned out stale. It was proved by that, so
 * that what others have done at its address does not count.
 */
export const proveAgain = (context: OAuthContext): Promise<void> => {
  const given = credentialsOf(context.request.authorization);
  return prove(context, given, digestOf(given?.secret ?? ''));
};

async function prove(
  context: OAuthContext,
  given: { id: string; secret: string } | undefined,
  digest: Buffer,
): Promise<void> {
  const { request, services } = context;
  const client = given && wellFormed(given.secret) ? await services.clients.fresh(given.id) : undefined;
  const proof = proofOf(client, digest);
  if (!client || !proof) {
    services.failures.failed(request.source);
    throw new OAuthError('invalid_client');
  }
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

function credentialsOf(header: string | undefined): { id: string; secret: string } | undefined {
  const [, encoded] = /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(header ?? '') ?? [];
  const text = Buffer.from(encoded ?? '', 'base64').toString('latin1');
  const at = text.indexOf(':');
  if (encoded === undefined || at === -1) return undefined;
  try {
    return { id: decode(text.slice(0, at)), secret: decode(text.slice(at + 1)) };
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
