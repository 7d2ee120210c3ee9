import { realtime } from '../../support/authority/row.js';
export default realtime({ method: 'POST', path: '/realtime/sessions', status: 201, body: ['website_ids'] });
//# sourceMappingURL=realtime-session-create.js.map