import { realtime } from '../../support/authority/row.ts';

export default realtime({ method: 'GET', path: '/realtime/sessions/{session_id}/socket', status: 101 });
