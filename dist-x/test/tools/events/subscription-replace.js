import { events, SUBSCRIBED, subscription } from '../../support/authority/records.js';
import { subscriptionWrite } from '../../support/authority/row.js';
export default subscriptionWrite({
    ...events,
    method: 'PATCH',
    path: '/subscriptions/{sub}',
    status: 200,
    body: subscription,
    revision: true,
    members: SUBSCRIBED,
});
//# sourceMappingURL=subscription-replace.js.map