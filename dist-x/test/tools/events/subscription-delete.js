import { events } from '../../support/authority/records.js';
import { subscriptionWrite } from '../../support/authority/row.js';
export default subscriptionWrite({
    ...events,
    method: 'DELETE',
    path: '/subscriptions/{sub}',
    status: 204,
    revision: true,
    members: {},
});
//# sourceMappingURL=subscription-delete.js.map