import { realtime } from '../../support/authority/row.js';
export default realtime({ method: 'POST', path: '/realtime/sessions/{session_id}/tickets', status: 201, body: [] });
//# sourceMappingURL=realtime-ticket-create.js.map