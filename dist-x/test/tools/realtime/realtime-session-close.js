import { realtime } from '../../support/authority/row.js';
export default realtime({ method: 'DELETE', path: '/realtime/sessions/{session_id}', status: 204 });
//# sourceMappingURL=realtime-session-close.js.map