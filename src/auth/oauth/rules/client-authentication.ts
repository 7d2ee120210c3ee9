import { timingSafeEqual } from 'node:crypto';
import type { Client } from '../../../store/oauth.ts';
import { digestOf, wellFormed } from '../../tokens.ts';
import type { OAuthContext, Proof, Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { decode } from '../parameters.ts';

/**
 * HTTP Basic with credential id and secret, each form-urlencoded first (RFC 6749, section 2.3.1). Nothing else
 * authenticates. A secret of wrong form costs no query; an address that has failed too often is not looked up any more,
 * and a client that is remembered is let in all the same, so that nobody can lock it out.
 */
export const clientAuthentication: Rule = async (context) => {
  const given = credentialsOf(context.request.authorization);
  const { clients } = context.services;
  const digest = digestOf(given?.secret ?? '');
  const remembered = given && clients.remembered(given.id);
  const proof = remembered && proofOf(remembered, digest);
  if (remembered && proof) {
    context.learn('client', remembered);
    context.learn('proof', proof);
    return;
  }
  await prove(context, given, digest);
};

/** The same again with what the store has now, after a statement has found the proof stale. */
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
  const wait = services.failures.wait(request.source);
  if (wait > 0) throw new OAuthError('slow_down', { retryAfter: wait });
  const client = given && wellFormed(given.secret) ? await services.clients.fresh(given.id) : undefined;
  const proof = proofOf(client, digest);
  if (!client || !proof) {
    services.failures.failed(request.source);
    throw new OAuthError('invalid_client');
  }
  context.learn('client', client);
  context.learn('proof', proof);
}

/** Compares with both secrets, and with a stand-in where there is none: the same work whoever asks (checks, TK-03). */
function proofOf(client: Client | undefined, digest: Buffer): Proof | undefined {
  const current = same(client?.secretDigest, digest);
  const old = same(client?.oldSecretDigest, digest);
  if (!client || !(current || old)) return undefined;
  return { credential: client.id, revision: client.revision, oldSecret: !current };
}

const NONE = Buffer.alloc(32);
const same = (kept: Uint8Array | null | undefined, digest: Buffer): boolean =>
  timingSafeEqual(kept ?? NONE, digest) && kept != null;

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
