import { columns, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/context',
    members: {
        '': plain(...['principal', 'environment', 'organization_id', 'app_id', 'installation_id', 'scopes', 'website_ids'], ...['data_access', 'restrictions', 'authority_expires_at', 'guides', 'websites', 'scope_effective', 'limits']),
        data_access: plain('message_content', 'pii', 'internal_notes'),
        'websites.*': columns(['website_read'], 'website_id', 'name', 'time_zone', 'now'),
        scope_effective: plain('scopes', 'website_ids', 'data_access', 'expires_at'),
        'scope_effective.data_access': plain('message_content', 'pii', 'internal_notes'),
        limits: plain(...['units_per_minute', 'burst', 'answer_bytes_per_unit', 'body_bytes', 'page_records', 'tokens_per_minute']),
    },
    nulls: { websites: ['website_read'] },
    shows: [['website', [1], { name: ['website_read'] }]],
    configured: ['/websites/*/name'],
});
//# sourceMappingURL=gateway-context.js.map