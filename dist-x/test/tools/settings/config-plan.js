import { at, plain, write } from '../../support/authority/row.js';
export default write({
    path: '/settings/plans?website_id={web}',
    scopes: ['config_read', 'config_plan'],
    unrestricted: true,
    body: (website) => ({
        path: `/ai/features/aif_${website.slice('web_'.length)}_1`,
        expected_version: 2,
        changes: { name: 'Renamed', enabled: false },
    }),
    author: false,
    receipts: [],
    notes: 0,
    members: {
        data: plain('preview'),
        'data.preview': plain('path', 'version', 'changes', 'approval_required', 'apply_available', 'status'),
        'data.preview.changes.*': plain('field', 'from', 'to'),
    },
    outsiders: at('/data/preview/changes/*', 'from', 'to'),
});
//# sourceMappingURL=config-plan.js.map