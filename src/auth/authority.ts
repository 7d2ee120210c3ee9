import type { Authority, Resource } from '../core/authority.ts';
import { Failure } from '../core/failures.ts';
import { loadAuthority } from '../store/calls/authority.ts';
import { type Database, StoreUnreachable } from '../store/driver/postgres.ts';
import { networkOf } from './network.ts';
import { digestOf, isBearer } from './tokens.ts';

/**
 * Turns a bearer token into an Authority. The cache of authorities only saves the first round trip; no code trusts a
 * cached authority. The statement that reads the data proves the authority (store/calls/guard.ts). If no statement has
 * proved it, the corridor calls `fresh` before it answers.
 */
export interface Authorities {
  /**
   * Returns the cached authority of a bearer token, or reads the authority from the store. Throws a 401 if the token is
   * not usable on the resource.
   */
  resolve(
    bearer: string | undefined,
    resource: Resource,
    from?: string,
  ): Promise<{ authority: Authority; fresh: boolean }>;
  /**
   * Reads the authority of a bearer token from the store. `from` is the address of the caller. While the app of the
   * token is unknown, the statement waits in the queue of the caller's network.
   */
  fresh(bearer: string, resource: Resource, from?: string): Promise<Authority>;
}

/** The cache has two generations. Each generation holds at most this many authorities. */
const REMEMBERED = 10_000;

export function openAuthorities(db: Database): Authorities {
  // The cache drops an authority that is unused for a whole generation. An LRU cache would move a key of its Map with
  // each call. V8 collects the deleted values of such a Map late (core/line.ts).
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

/** Refuses a token of one interface on another interface (RFC 8707; OU-03). The interface of a token never changes. */
function bound(authority: Authority, resource: Resource): Authority {
  if (authority.audience !== null && authority.audience !== resource) {
    throw new Failure('wrong_resource', { credential: authority.credentialId });
  }
  return authority;
}
