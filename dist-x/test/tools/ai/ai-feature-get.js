import { FEATURE, stored } from '../../support/authority/records.js';
import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/ai/features/{aif:1}',
    scopes: ['ai_features_read'],
    members: { data: plain('feature', 'coverage'), 'data.feature': FEATURE },
    shows: [stored.feature(1)],
    configured: ['/data/feature/name'],
});
//# sourceMappingURL=ai-feature-get.js.map