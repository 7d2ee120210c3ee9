import { Failure } from '../core/failures.js';
import { networkOf } from '../flow/network.js';
import { loadAuthority } from '../store/calls/authority.js';
import { StoreUnreachable } from '../store/driver/errors.js';
import { digestOf, isBearer } from './tokens.js';
/** The largest number of authorities in each of the two Maps of the cache. */
const REMEMBERED = 10_000;
export function openAuthorities(db) {
    // The cache consists of two Maps. When the newer Map is full, it replaces the older Map, and a new empty Map starts.
    // An LRU cache would delete and add a Map key at each call, and V8 frees the deleted values late (flow/fair-queue.ts).
    let remembered = new Map();
    let before = new Map();
    const remember = (key, authority) => {
        if (remembered.size >= REMEMBERED && !remembered.has(key)) {
            before = remembered;
            remembered = new Map();
        }
        remembered.set(key, authority);
    };
    const fresh = async (bearer, resource, from) => {
        const digest = digestOf(bearer);
        const key = digest.toString('base64');
        const kept = remembered.get(key) ?? before.get(key);
        // Whoever has stolen a token and calls from elsewhere pays nothing. So these calls must not use the turn of the app.
        const turn = kept && admits(kept, from) ? kept.appId : from && networkOf(from);
        const found = await loadAuthority(db, digest, kept, turn).catch((cause) => {
            throw cause instanceof StoreUnreachable ? new Failure('authority_unavailable', { cause, retryAfter: 1 }) : cause;
        });
        if (found?.proof)
            remember(key, found.authority);
        else {
            remembered.delete(key);
            before.delete(key);
        }
        if (!found)
            throw new Failure('unauthenticated');
        const actor = found.authority;
        // The caller gets the answer for an unknown token, and does not learn whether the token has expired.
        if (!admits(actor, from))
            throw new Failure('unauthenticated', { actor, logged: 'address_refused' });
        if (!found.proof)
            throw new Failure(found.state === 'expired' ? 'token_expired' : 'token_revoked', { actor });
        return { authority: bound(found.authority, resource), proof: found.proof };
    };
    return {
        async resolve(bearer, resource, from) {
            if (bearer === undefined || !isBearer(bearer))
                throw new Failure('unauthenticated');
            const key = digestOf(bearer).toString('base64');
            const kept = remembered.get(key);
            const authority = kept ?? before.get(key);
            // Only the store can refuse an address, because the ranges may have become wider.
            if (!authority || !admits(authority, from))
                return fresh(bearer, resource, from);
            if (!kept)
                remember(key, authority);
            return { authority: bound(authority, resource) };
        },
        fresh,
    };
}
const admits = (authority, from) => authority.admits?.(from) ?? true;
/**
 * An access token is bound to one interface, for example MCP. The other interfaces refuse the token (RFC 8707; OU-03).
 * A token never changes its interface, so a cached authority is enough for this check.
 */
function bound(authority, resource) {
    if (authority.audience !== null && authority.audience !== resource) {
        throw new Failure('wrong_resource', { actor: authority });
    }
    return authority;
}
//# sourceMappingURL=authority.js.map