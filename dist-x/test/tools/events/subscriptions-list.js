import { events, SUBSCRIPTION } from '../../support/authority/records.js';
import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/subscriptions',
    ...events,
    members: {
        '': plain('subscriptions'),
        'subscriptions.*': SUBSCRIPTION,
        'subscriptions.*.delivery': plain('mode'),
    },
});
//# sourceMappingURL=subscriptions-list.js.map