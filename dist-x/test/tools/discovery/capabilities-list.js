import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/capabilities?website_id={web}',
    members: { data: plain('website_id', 'operations', 'authority_revision', 'coverage') },
});
//# sourceMappingURL=capabilities-list.js.map