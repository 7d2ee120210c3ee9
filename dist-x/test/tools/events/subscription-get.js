import { events, SUBSCRIPTION } from '../../support/authority/records.js';
import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/subscriptions/{sub}',
    ...events,
    members: { '': plain('subscription'), subscription: SUBSCRIPTION, 'subscription.delivery': plain('mode') },
});
//# sourceMappingURL=subscription-get.js.map