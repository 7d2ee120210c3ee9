import { createHash } from 'node:crypto';
import { stringify } from 'safe-stable-stringify';
import { idKind, parseId } from '../core/ids.js';
/** True while a task waits for its turn or runs. */
export const isOpen = (state) => state === 'submitted' || state === 'working';
const grantsKnown = new WeakMap();
/** SHA-256 of everything that an authority may see. The digest does not depend on the token or the revision. */
export function grantsOf(authority) {
    const known = grantsKnown.get(authority);
    if (known)
        return known;
    const { scopes, dataAccess, websites, restrictions, switchedOff } = authority;
    const grants = {
        scopes: [...scopes].sort(),
        dataAccess: [...dataAccess].sort(),
        websites: [...websites.keys()].sort(),
        ...(switchedOff.size > 0 && { switchedOff: [...switchedOff].sort() }),
    };
    const limits = Object.entries(restrictions).map(([dimension, ids]) => [dimension, [...ids].sort()]);
    const text = stringify({ ...grants, restrictions: Object.fromEntries(limits) }) ?? '';
    const digest = createHash('sha256').update(text).digest();
    grantsKnown.set(authority, digest);
    return digest;
}
/** The task as an authority may see it. If `row` has no artifact, the artifact is `body`, the result of the run. */
export function viewOf(row, authority, body = row.artifact) {
    const { id, contextId, skill, state, stateAt, expiresAt, failure, grants, history } = row;
    // Another token of the same credential may have no access to the website of the task.
    const websiteId = row.websiteId !== null && authority.websites.has(row.websiteId) ? row.websiteId : null;
    const readable = state === 'completed' && body !== null && grantsOf(authority).equals(grants);
    const artifact = readable ? body : undefined;
    return { id, contextId, skill, websiteId, state, stateAt, expiresAt, failure, artifact, history: history ?? [] };
}
/** The website of a task: the input's `website_id`, or else the website of another id in the input. */
export function websiteOf(skill, input) {
    for (const [name, schema] of Object.entries(skill.input.shape)) {
        const value = input[name];
        if (typeof value !== 'string')
            continue;
        if (name === 'website_id')
            return value;
        // The cast is needed, because zod types the members of an object only with its core interface.
        if (idKind(schema))
            return parseId(value)?.website ?? null;
    }
    return null;
}
//# sourceMappingURL=view.js.map