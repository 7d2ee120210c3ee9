import { events } from '../../support/authority/records.ts';
import { subscriptionWrite } from '../../support/authority/row.ts';

export default subscriptionWrite({
  ...events,
  method: 'DELETE',
  path: '/subscriptions/{sub}',
  status: 204,
  revision: true,
  members: {},
});
