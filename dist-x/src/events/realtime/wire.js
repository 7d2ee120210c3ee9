import { HEARTBEAT } from '../../core/realtime-session.js';
export const TIMINGS = {
    ack: 60_000,
    silence: 60_000,
    heartbeat: HEARTBEAT * 1000,
    check: 1_000,
    look: 100,
    unproved: 30_000,
    retry: 1_000,
};
//# sourceMappingURL=wire.js.map