import { events } from '../../support/authority/records.js';
import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/events?subscription_id={sub}&after={after}',
    ...events,
    members: {
        '': plain('subscription_id', 'revision', 'events', 'next_cursor', 'has_more', 'retention', 'coverage'),
        'retention.*': plain('website_id', 'retained_from', 'accepted_cursor'),
        'coverage.*': plain('website_id', 'coverage'),
    },
});
//# sourceMappingURL=events-pull.js.map