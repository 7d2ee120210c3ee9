import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/operations/{receipt}?website_id={web}',
    // The planted receipt comes from a call of config_plan. A caller without the grants for config_plan gets
    // `not_found`.
    hidden: { oneOf: [['config_read', 'config_plan']], unrestricted: true },
    members: {
        data: plain('operation_id', 'website_id', 'operation', 'status', 'coverage'),
    },
});
//# sourceMappingURL=operation-get.js.map