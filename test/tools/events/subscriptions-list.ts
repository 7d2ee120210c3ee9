import { events, SUBSCRIPTION } from '../../support/authority/records.ts';
import { plain, reads } from '../../support/authority/row.ts';

export default reads({
  path: '/subscriptions',
  ...events,
  members: {
    '': plain('subscriptions'),
    'subscriptions.*': SUBSCRIPTION,
    'subscriptions.*.delivery': plain('mode'),
  },
});
