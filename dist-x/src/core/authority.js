import { holds, SCOPES } from './scopes.js';
/** The interfaces that an OAuth token can be bound to (RFC 8707). An installation token works on every interface. */
export const RESOURCES = ['rest', 'mcp', 'a2a'];
/** The operations that wait for a person by default. gateway.must_wait decides which of their writes do. */
export const WAIT_BY_DEFAULT = ['conversation_reply'];
/** The operations of a credential whose writes, or some of them, wait for a person. */
export const waitsOf = (policy) => {
    const byDefault = WAIT_BY_DEFAULT.filter((name) => policy.write.includes(name));
    return [...new Set([...policy.approve, ...byDefault.filter((name) => !policy.without_approval.includes(name))])];
};
export const effectiveOf = ({ scopes, websites, dataAccess, expiresAt }) => ({
    scopes: SCOPES.filter((scope) => scopes.has(scope)),
    website_ids: [...websites.keys()],
    data_access: {
        message_content: dataAccess.has('message_content'),
        pii: dataAccess.has('pii'),
        internal_notes: dataAccess.has('internal_notes'),
    },
    expires_at: expiresAt,
});
export const isRestricted = (authority) => Object.keys(authority.restrictions).length > 0;
export const meets = (authority, demand) => holds(authority, demand) && !(demand.unrestricted && isRestricted(authority));
//# sourceMappingURL=authority.js.map