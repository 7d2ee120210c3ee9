export const SCOPES = [
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
/** Scopes that only write operations require. `--scopes read` grants all other scopes. */
export const WRITE_SCOPES = [
    'config_plan',
    'ai_execute',
    'visitor_notes_write',
    'conversation_update',
];
export const DATA_ACCESS = ['message_content', 'pii', 'internal_notes'];
export const RESTRICTIONS = ['channel_ids', 'team_ids', 'subsite_ids'];
export const PII = { scopes: ['contact_read_pii'], dataAccess: ['pii'] };
export const MSG = { scopes: ['message_content_read'], dataAccess: ['message_content'] };
export const INT = { scopes: ['internal_notes_read'], dataAccess: ['internal_notes'] };
export const DIRECTORY = { scopes: ['directory_read'], dataAccess: [] };
export const needs = (scope) => ({ scopes: [scope], dataAccess: [] });
export function both(...all) {
    return {
        scopes: [...new Set(all.flatMap((r) => r.scopes))],
        dataAccess: [...new Set(all.flatMap((r) => r.dataAccess))],
    };
}
/** The grants in words, such as "the scopes a and b and the data access pii". */
export const grantsText = ({ scopes, dataAccess }) => [
    ...(scopes.length > 0 ? [`the scope${scopes.length > 1 ? 's' : ''} ${scopes.join(' and ')}`] : []),
    ...(dataAccess.length > 0 ? [`the data access ${dataAccess.join(' and ')}`] : []),
].join(' and ');
export function holds(grants, requirement) {
    return (requirement.scopes.every((s) => grants.scopes.has(s)) &&
        requirement.dataAccess.every((d) => grants.dataAccess.has(d)));
}
//# sourceMappingURL=scopes.js.map