export const PROTOCOL = 'igw.realtime.v1';
/** Seconds between two pings from the server. */
export const HEARTBEAT = 25;
export const MAX_ATTACHED = 20;
//# sourceMappingURL=realtime-session.js.map