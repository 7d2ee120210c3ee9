import { events, SUBSCRIBED, subscription } from '../../support/authority/records.ts';
import { subscriptionWrite } from '../../support/authority/row.ts';

export default subscriptionWrite({
  ...events,
  method: 'PATCH',
  path: '/subscriptions/{sub}',
  status: 200,
  body: subscription,
  revision: true,
  members: SUBSCRIBED,
});
