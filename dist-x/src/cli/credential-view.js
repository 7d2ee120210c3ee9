import { waitsOf } from '../core/authority.js';
import { SCOPES } from '../core/scopes.js';
import { appOf, facts, plain, table, time } from './output.js';
const websiteIds = ({ tenant, sites }) => sites.map((site) => `web_${tenant}_${site}`);
/** Returns the restrictions of a credential as in the API. A dimension without a restriction is left out. */
export const restrictionsOf = ({ channel_ids, team_ids, subsite_ids }) => ({
    ...(channel_ids && { channel_ids }),
    ...(team_ids && { team_ids }),
    ...(subsite_ids && { subsite_ids }),
});
export const credentialDocument = (record) => ({
    credential_id: record.id,
    installation_id: record.installation_id,
    app_id: record.app_id,
    organization_id: record.organization_id,
    ...(record.client_host !== null && { client_host: record.client_host }),
    environment: record.environment,
    state: record.state,
    website_ids: websiteIds(record),
    scopes: record.scopes,
    data_access: record.data_access,
    restrictions: restrictionsOf(record),
    callbacks: record.callbacks,
    origins: record.origins,
    allow_ip: record.allow_ip,
    approve: record.approve,
    approval_by: record.approval_by,
    approvers: record.approvers,
    write: record.write,
    without_approval: record.without_approval,
    revision: record.revision,
    old_secret_until: record.old_secret_until,
    expires_at: record.expires_at,
    revoked_at: record.revoked_at,
    created_at: record.created_at,
    updated_at: record.updated_at,
});
/** Adds the number of usable tokens. A statement that makes or revokes tokens cannot count them. */
export const storedDocument = (record) => ({
    ...credentialDocument(record),
    usable_tokens: record.usable_tokens,
});
/** The only JSON document that contains the new secret and the new token. */
export const issuedDocument = ({ credential, secret, token }) => ({
    ...credentialDocument(credential),
    secret,
    token,
});
export const credentialText = (record) => facts([
    ['credential', `${record.id}, ${record.state}`],
    ['app', `${appOf(record.client_host, record.app_name)} (${record.app_id})`],
    ['installation', record.installation_id],
    ['environment', record.environment],
    ['websites', websiteIds(record)],
    ['scopes', record.scopes.length === SCOPES.length ? 'all' : record.scopes],
    ['data access', list(record.data_access)],
    ['channels', record.channel_ids ?? 'unrestricted'],
    ['teams', record.team_ids ?? 'unrestricted'],
    ['subsites', record.subsite_ids ?? 'unrestricted'],
    ['callbacks', list(record.callbacks)],
    ['origins', list(record.origins)],
    ['addresses', record.allow_ip.length === 0 ? 'every' : record.allow_ip],
    ['approval', list([...waitsOf(record)].sort())],
    ...(record.approval_by === 'others'
        ? [['approved by', 'others than the person for whom the app writes']]
        : []),
    ...(record.approvers.length > 0 ? [['approvers', record.approver_emails.map(plain)]] : []),
    ...(record.write.length > 0 ? [['writes by policy', record.write]] : []),
    ...(record.without_approval.length > 0 ? [['without approval', record.without_approval]] : []),
    ['revision', String(record.revision)],
    ['expires', time(record.expires_at)],
    ...(record.old_secret_until ? [['old secret', `accepted until ${time(record.old_secret_until)}`]] : []),
    ...(record.revoked_at ? [['revoked', time(record.revoked_at)]] : []),
]);
const list = (values) => (values.length === 0 ? 'none' : values);
export const issuedText = ({ credential, secret, token }) => [
    credentialText(credential),
    '',
    facts([
        ['secret', secret],
        ['token', token],
    ]),
    '',
    'Secret and token are shown only now. The store keeps only their digests.',
].join('\n');
export const credentialTable = (records) => table(['CREDENTIAL', 'APP', 'ENVIRONMENT', 'STATE', 'REVISION', 'WEBSITES', 'EXPIRES'], records.map((record) => [
    record.id,
    appOf(record.client_host, record.app_name),
    record.environment,
    record.state,
    String(record.revision),
    websiteIds(record).join(' '),
    time(record.expires_at),
]), 'There is no credential.');
//# sourceMappingURL=credential-view.js.map