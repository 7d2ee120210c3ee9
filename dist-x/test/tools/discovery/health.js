import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/health?website_id={web}',
    scopes: ['health_read'],
    members: {
        data: plain('website_id', 'status', 'components', 'families', 'coverage'),
        'data.components.*': plain('name', 'status', 'checked_at'),
        'data.families.*': plain('family', 'status', 'last_event_at'),
    },
});
//# sourceMappingURL=health.js.map