import { realtime } from '../../support/authority/row.ts';

export default realtime({ method: 'POST', path: '/realtime/sessions', status: 201, body: ['website_ids'] });
