import { createHash } from 'node:crypto';
import { eventTypesOf } from '../../core/event-arguments.js';
import { readCursor, writeCursor } from '../cursors.js';
import { refused } from './refusals.js';
/** The most websites of one subscription, as in the contract. */
const WEBSITES = 50;
/** The websites of a subscription. A website that is not granted is refused like one that does not exist. */
export function websitesOf(authority, { arguments: { website_id } }) {
    const named = website_id === undefined ? [...authority.websites.values()] : [authority.websites.get(website_id)];
    const websites = named.filter((one) => one !== undefined);
    if (websites.length === 0)
        return refused('Forbidden');
    return websites.length > WEBSITES ? refused('ResourceExhausted', { limit: 'websites', max: WEBSITES }) : websites;
}
export const filterOf = (websites, { name, arguments: given }) => ({
    tenant: websites[0]?.tenant ?? '0',
    sites: websites.map(({ site }) => site),
    eventTypes: eventTypesOf(name, given),
});
/** One text for equal arguments: members and types in a fixed order, absent members left out. */
export const canonical = ({ name, arguments: { website_id, types } }) => JSON.stringify([name, website_id ?? null, types === undefined ? null : [...types].sort()]);
/**
 * The cursors of one subscription. A cursor names credential, event name and arguments, so a cursor of another
 * subscription is refused. Poll and webhook share it: a client can change the mode and keep its place.
 */
export function cursorsOf(keys, { credentialId: credential, environment }, wanted) {
    const subscription = `mcp_${createHash('sha256').update(canonical(wanted)).digest('hex').slice(0, 32)}`;
    return {
        write: (positions) => writeCursor(keys, { subscription, revision: 0, credential, environment, positions }),
        /** The positions by website. Undefined for a cursor of another subscription. */
        read: (cursor) => {
            const state = readCursor(keys, cursor);
            const own = state?.subscription === subscription && state.credential === credential;
            return own && state.environment === environment ? state.positions : undefined;
        },
    };
}
//# sourceMappingURL=definition.js.map