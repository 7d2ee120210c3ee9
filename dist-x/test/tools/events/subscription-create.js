import { events, SUBSCRIBED, subscription } from '../../support/authority/records.js';
import { subscriptionWrite } from '../../support/authority/row.js';
export default subscriptionWrite({
    ...events,
    method: 'POST',
    path: '/subscriptions',
    status: 201,
    body: subscription,
    members: SUBSCRIBED,
});
//# sourceMappingURL=subscription-create.js.map