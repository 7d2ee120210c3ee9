import { realtime } from '../../support/authority/row.ts';

export default realtime({ method: 'POST', path: '/realtime/sessions/{session_id}/tickets', status: 201, body: [] });
