import { events, SUBSCRIPTION } from '../../support/authority/records.ts';
import { plain, reads } from '../../support/authority/row.ts';

export default reads({
  path: '/subscriptions/{sub}',
  ...events,
  members: { '': plain('subscription'), subscription: SUBSCRIPTION, 'subscription.delivery': plain('mode') },
});
