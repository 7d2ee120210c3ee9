import type { Authority, Resource } from '../core/authority.ts';
import { Failure } from '../core/failures.ts';
import { loadAuthority } from '../store/credentials.ts';
import { type Database, StoreUnreachable } from '../store/postgres.ts';
import { digestOf, isBearer } from './tokens.ts';

/**
 * Bearer -> Authority. What is remembered here is never believed: it only spares the first round trip. The statement
 * that reads the data proves it (store/guard.ts), and the corridor asks `fresh` before it answers anything that no
 * statement has proved.
 */
export interface Authorities {
  /** The authority remembered for a bearer, or a fresh one; throws the 401 of a token that is unusable on the resource. */
  resolve(bearer: string | undefined, resource: Resource): Promise<{ authority: Authority; fresh: boolean }>;
  /** Reads the authority anew. */
  fresh(bearer: string, resource: Resource): Promise<Authority>;
}

const REMEMBERED = 10_000;

export function openAuthorities(db: Database): Authorities {
  // Insertion order is age of use: the first key is the one unused longest.
  const remembered = new Map<string, Authority>();

  const fresh = async (bearer: string, resource: Resource): Promise<Authority> => {
    const digest = digestOf(bearer);
    const key = digest.toString('base64');
    remembered.delete(key);
    const found = await loadAuthority(db, digest).catch((cause: unknown) => {
      throw cause instanceof StoreUnreachable ? new Failure('authority_unavailable', { cause, retryAfter: 1 }) : cause;
    });
    if (!found) throw new Failure('unauthenticated');
    if (found.state !== 'valid') {
      const { credentialId: credential } = found.authority;
      throw new Failure(found.state === 'expired' ? 'token_expired' : 'token_revoked', { credential });
    }
    remembered.set(key, found.authority);
    if (remembered.size > REMEMBERED) remembered.delete(remembered.keys().next().value ?? key);
    return bound(found.authority, resource);
  };

  return {
    async resolve(bearer, resource) {
      if (bearer === undefined || !isBearer(bearer)) throw new Failure('unauthenticated');
      const key = digestOf(bearer).toString('base64');
      const authority = remembered.get(key);
      if (!authority) return { authority: await fresh(bearer, resource), fresh: true };
      remembered.delete(key);
      remembered.set(key, authority);
      return { authority: bound(authority, resource), fresh: false };
    },
    fresh,
  };
}

/** A token of one interface is none on another (RFC 8707; checks, OU-03). What a token is bound to never changes. */
function bound(authority: Authority, resource: Resource): Authority {
  if (authority.audience !== null && authority.audience !== resource) {
    throw new Failure('wrong_resource', { credential: authority.credentialId });
  }
  return authority;
}
