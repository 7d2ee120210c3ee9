import { events, SUBSCRIBED, subscription } from '../../support/authority/records.ts';
import { subscriptionWrite } from '../../support/authority/row.ts';

export default subscriptionWrite({
  ...events,
  method: 'POST',
  path: '/subscriptions',
  status: 201,
  body: subscription,
  members: SUBSCRIBED,
});
