import type { Authority, Resource } from '../core/authority.ts';
import { Failure } from '../core/failures.ts';
import { loadAuthority } from '../store/calls/authority.ts';
import { type Database, StoreUnreachable } from '../store/driver/postgres.ts';
import { networkOf } from './network.ts';
import { digestOf, isBearer } from './tokens.ts';

/**
 * Bearer -> Authority. What is remembered here is never believed: it only spares the first round trip. The statement
 * that reads the data proves it (store/calls/guard.ts), and the corridor asks `fresh` before it answers anything that no
 * statement has proved.
 */
export interface Authorities {
  /** The authority remembered for a bearer, or a fresh one; throws the 401 of a token that is unusable on the resource. */
  resolve(
    bearer: string | undefined,
    resource: Resource,
    from?: string,
  ): Promise<{ authority: Authority; fresh: boolean }>;
  /** Reads the authority anew. `from`: address of the caller, whose network waits in a line of its own while nobody knows the app. */
  fresh(bearer: string, resource: Resource, from?: string): Promise<Authority>;
}

/** In each of two generations. */
const REMEMBERED = 10_000;

export function openAuthorities(db: Database): Authorities {
  // Who is not asked for while a whole generation comes is forgotten. A Map whose keys were moved to its end with each
  // call kept what it held from being collected young (core/line.ts).
  let remembered = new Map<string, Authority>();
  let before = new Map<string, Authority>();
  const remember = (key: string, authority: Authority): void => {
    if (remembered.size >= REMEMBERED && !remembered.has(key)) {
      before = remembered;
      remembered = new Map();
    }
    remembered.set(key, authority);
  };

  const fresh = async (bearer: string, resource: Resource, from?: string): Promise<Authority> => {
    const digest = digestOf(bearer);
    const key = digest.toString('base64');
    const kept = remembered.get(key) ?? before.get(key);
    const found = await loadAuthority(db, digest, kept, from && networkOf(from)).catch((cause: unknown) => {
      throw cause instanceof StoreUnreachable ? new Failure('authority_unavailable', { cause, retryAfter: 1 }) : cause;
    });
    if (found?.state !== 'valid') {
      remembered.delete(key);
      before.delete(key);
      if (!found) throw new Failure('unauthenticated');
      const { credentialId: credential } = found.authority;
      throw new Failure(found.state === 'expired' ? 'token_expired' : 'token_revoked', { credential });
    }
    remember(key, found.authority);
    return bound(found.authority, resource);
  };

  return {
    async resolve(bearer, resource, from) {
      if (bearer === undefined || !isBearer(bearer)) throw new Failure('unauthenticated');
      const key = digestOf(bearer).toString('base64');
      const kept = remembered.get(key);
      const authority = kept ?? before.get(key);
      if (!authority) return { authority: await fresh(bearer, resource, from), fresh: true };
      if (!kept) remember(key, authority);
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
