/** The authority of a credential, in the words of the contract. The rows of the operations use these names. */
export const ALL_SCOPES = [
    'website_read',
    'health_read',
    'conversation_read',
    'contact_read',
    'contact_read_pii',
    'visitor_notes_read',
    'config_read',
    'config_plan',
    'ai_features_read',
    'ai_execute',
    'reports_read',
    'file_read',
    'message_content_read',
    'visitor_notes_write',
    'conversation_update',
    'directory_read',
    'live_read',
    'event_read',
    'internal_notes_read',
];
export const ALL_FLAGS = ['message_content', 'pii', 'internal_notes'];
export const FULL = { scopes: ALL_SCOPES, flags: ALL_FLAGS };
/** All grants but one: without each scope, then without each flag. */
export const LACKING = [
    ...ALL_SCOPES.map((gone) => [
        `without ${gone}`,
        { ...FULL, scopes: ALL_SCOPES.filter((scope) => scope !== gone) },
    ]),
    ...ALL_FLAGS.map((gone) => [
        `without the flag ${gone}`,
        { ...FULL, flags: ALL_FLAGS.filter((flag) => flag !== gone) },
    ]),
];
export const PII = ['contact_read_pii', 'pii'];
export const MSG = ['message_content_read', 'message_content'];
export const MSG_PII = [...MSG, ...PII];
export const DIRECTORY = ['directory_read'];
/** The grants for notes beside those of the record that has the notes. */
export const NOTES = ['visitor_notes_read', 'contact_read_pii', ...ALL_FLAGS];
export const holdsAll = (grants, needs) => {
    const held = [...grants.scopes, ...grants.flags];
    return needs.every((need) => {
        if (need === 'unrestricted')
            return true;
        return need === '!ai_execute' ? !held.includes('ai_execute') : held.includes(need);
    });
};
const flagOf = (need) => ALL_FLAGS.some((flag) => flag === need);
const scopeOf = (need) => ALL_SCOPES.some((scope) => scope === need);
export const grantsOf = (needs) => ({
    scopes: needs.filter(scopeOf),
    flags: needs.filter(flagOf),
});
export const granted = (members, grants, restricted) => Object.keys(members)
    .filter((name) => holdsAll(grants, members[name] ?? []))
    .filter((name) => !(restricted && members[name]?.includes('unrestricted')))
    .sort();
export const DIMENSIONS = ['channel_ids', 'team_ids', 'subsite_ids'];
const PLACES = {
    channel_ids: ['channels', 'chn'],
    team_ids: ['teams', 'tem'],
    subsite_ids: ['subsites', 'sst'],
};
/** The restriction as a member of a grant, for the first website. */
export function limitsOf(restricted) {
    if (restricted === undefined)
        return {};
    const [member, prefix] = PLACES[restricted.dimension];
    return { [member]: restricted.ids.map((id) => `${prefix}_1_1_${id}`) };
}
//# sourceMappingURL=grants.js.map