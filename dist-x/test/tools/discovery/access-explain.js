import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/access',
    members: {
        data: plain('operations'),
        'data.operations.*': plain('operation', 'allowed', 'lacks', 'sentence'),
    },
});
//# sourceMappingURL=access-explain.js.map