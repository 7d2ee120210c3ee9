import type { Authority, Resource } from '../core/authority.ts';
import { Failure } from '../core/failures.ts';
import { networkOf } from '../flow/network.ts';
import { elsewhere, loadAuthority } from '../store/calls/authority.ts';
import type { Proof } from '../store/calls/guard.ts';
import { StoreUnreachable } from '../store/driver/errors.ts';
import type { Database } from '../store/driver/postgres.ts';
import { digestOf, isBearer } from './tokens.ts';

/**
 * Finds the authority of a bearer token. The cache only saves a round trip: no code trusts a cached authority. The
 * statement that reads the data also proves the authority (store/calls/guard.ts). If a call runs no such statement, the
 * corridor (gateway/call.ts) calls `fresh` before it answers.
 */
export interface Authorities {
  /**
   * Returns the authority of a bearer token from the cache. If the cache does not contain the authority, reads the
   * authority from the store and also returns its proof. Throws a 401 if the token is not usable on this resource, or
   * from the caller's IP address `from`. Without an address, a credential with ranges of addresses is refused.
   */
  resolve(
    bearer: string | undefined,
    resource: Resource,
    from: string | undefined,
  ): Promise<{ authority: Authority; proof?: Proof }>;
  /**
   * Reads the authority of a bearer token from the store. If the app of the token is not known yet, or the token may not
   * be used from the caller's address, the statement waits in the queue of the caller's network.
   */
  fresh(bearer: string, resource: Resource, from: string | undefined): Promise<{ authority: Authority; proof: Proof }>;
}

/** The largest number of authorities in each of the two Maps of the cache. */
const REMEMBERED = 10_000;

export function openAuthorities(db: Database): Authorities {
  // The cache consists of two Maps. When the newer Map is full, it replaces the older Map, and a new empty Map starts.
  // An LRU cache would delete and add a Map key at each call, and V8 frees the deleted values late (flow/fair-queue.ts).
  let remembered = new Map<string, Authority>();
  let before = new Map<string, Authority>();
  const remember = (key: string, authority: Authority): void => {
    if (remembered.size >= REMEMBERED && !remembered.has(key)) {
      before = remembered;
      remembered = new Map();
    }
    remembered.set(key, authority);
  };

  const fresh: Authorities['fresh'] = async (bearer, resource, from) => {
    const digest = digestOf(bearer);
    const key = digest.toString('base64');
    const kept = remembered.get(key) ?? before.get(key);
    // Whoever has stolen a token and calls from elsewhere pays nothing. So these calls must not use the turn of the app.
    const turn = kept && admits(kept, from) ? kept.appId : from && networkOf(from);
    const found = await loadAuthority(db, digest, kept, turn).catch((cause: unknown) => {
      throw cause instanceof StoreUnreachable ? new Failure('authority_unavailable', { cause, retryAfter: 1 }) : cause;
    });
    if (found?.proof) remember(key, found.authority);
    else {
      remembered.delete(key);
      before.delete(key);
    }
    if (!found) throw new Failure('unauthenticated');
    const actor = found.authority;
    // The caller gets the answer for an unknown token, and does not learn whether the token has expired.
    if (!admits(actor, from)) throw new Failure('unauthenticated', { actor, logged: 'address_refused' });
    const away = elsewhere(found);
    if (away) throw away;
    if (!found.proof) throw new Failure(found.state === 'expired' ? 'token_expired' : 'token_revoked', { actor });
    return { authority: bound(found.authority, resource), proof: found.proof };
  };

  return {
    async resolve(bearer, resource, from) {
      if (bearer === undefined || !isBearer(bearer)) throw new Failure('unauthenticated');
      const key = digestOf(bearer).toString('base64');
      const kept = remembered.get(key);
      const authority = kept ?? before.get(key);
      // Only the store can refuse an address, because the ranges may have become wider.
      if (!authority || !admits(authority, from)) return fresh(bearer, resource, from);
      if (!kept) remember(key, authority);
      return { authority: bound(authority, resource) };
    },
    fresh,
  };
}

const admits = (authority: Authority, from: string | undefined): boolean => authority.admits?.(from) ?? true;

/**
 * An access token is bound to one interface, for example MCP. The other interfaces refuse the token (RFC 8707; OU-03).
 * A token never changes its interface, so a cached authority is enough for this check.
 */
function bound(authority: Authority, resource: Resource): Authority {
  if (authority.audience !== null && authority.audience !== resource) {
    throw new Failure('wrong_resource', { actor: authority });
  }
  return authority;
}
