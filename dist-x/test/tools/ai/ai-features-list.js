import { FEATURE, stored } from '../../support/authority/records.js';
import { always, plain, reads } from '../../support/authority/row.js';
/**
 * The members of an AI feature that can be executed. A caller with the scope sees the context types. A caller without
 * the scope sees `reason` instead.
 */
const EXECUTION = { available: [], context_types: ['ai_execute'], reason: ['!ai_execute'] };
export default reads({
    path: '/ai/features?website_id={web}',
    scopes: ['ai_features_read'],
    unrestricted: true,
    members: {
        data: plain('features', 'truncated', 'next_cursor'),
        'data.features.*': { ...FEATURE, application_execution: [] },
        'data.features.0.application_execution': EXECUTION,
        'data.features.1.application_execution': plain('available', 'reason'),
    },
    list: ['data.features', 'id', always(1, 3)],
    cursor: 'aif',
    shows: [stored.feature(1, 3)],
    configured: ['/data/features/*/name'],
});
//# sourceMappingURL=ai-features-list.js.map