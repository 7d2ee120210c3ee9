import { plain, write } from '../../support/authority/row.js';
export default write({
    path: '/ai/features/{aif:1}/execute',
    scopes: ['ai_features_read', 'ai_execute'],
    unrestricted: true,
    subject: ['feature_id', 'aif'],
    body: () => ({
        expected_version: 2,
        context: { type: 'text', text: 'Wo ist mein Paket geblieben?', default_language: 'de' },
    }),
    author: false,
    receipts: [],
    notes: 0,
    members: {
        data: plain('feature_id', 'version', 'type', 'output'),
        'data.output': plain('language'),
    },
});
//# sourceMappingURL=ai-feature-execute.js.map