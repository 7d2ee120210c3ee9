import { realtime } from '../../support/authority/row.js';
export default realtime({ method: 'GET', path: '/realtime/sessions/{session_id}/socket', status: 101 });
//# sourceMappingURL=realtime-socket.js.map