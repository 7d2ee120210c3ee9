import { realtime } from '../../support/authority/row.ts';

export default realtime({ method: 'DELETE', path: '/realtime/sessions/{session_id}', status: 204 });
